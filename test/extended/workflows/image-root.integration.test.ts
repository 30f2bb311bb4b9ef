import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect } from 'vitest';
import { buildTar, type TarEntry } from '../../../model/image/tar.ts';
import { eventually } from '../../support/eventually.ts';
import { useImageCases } from '../../support/image-cases.ts';
import { file, ociArchive, ociLayout, wholeRoot } from '../../support/root-trees.ts';

/**
 * Images FROM a root file system in the context, on process trees: with its own /usr a tree does not see the host's.
 */
const { test, mayfly: all, door } = useImageCases();
let root: Buffer;

beforeAll(async () => {
  root = await wholeRoot();
});

async function send(entries: readonly TarEntry[]): Promise<{ contextDigest: string }> {
  const archive = buildTar(entries);
  const contextDigest = createHash('sha256').update(archive).digest('hex');
  const headers = { 'Content-Type': 'application/x-tar' };
  const response = await door().call('PUT', `/v1/image-contexts/${contextDigest}`, Buffer.from(archive), headers);
  expect(response.status).toBe(201);
  return { contextDigest };
}

test('a root file system becomes a source once, also across restarts of workers, and later steps run in it', async ({
  mayfly,
  operations,
  images,
}) => {
  const context = await send([file('root.tar.gz', gzipSync(root, { level: 1 })), file('more', 'more\n')]);
  const dockerfile = [
    'FROM debian:12',
    'RUN cat /own >/seen && test ! -e /etc/alternatives/awk && ! ls /usr/bin/python3 /usr/bin/git',
    'COPY more /srv/',
  ].join('\n');
  const wish = { ...context, aliases: { 'debian:12': './root.tar.gz' } };
  const begun = await images.beginWhole(dockerfile, wish);
  const sandboxId = begun.steps[0]?.command?.sandboxId ?? '';
  await eventually(async () => (await mayfly.store.commands.list({ sandboxId, limit: 1 })).items.length, 1);
  await all().startControl();
  await mayfly.host?.stop();
  await mayfly.startHost();
  const first = await images.over(begun);
  expect(first).toMatchObject({ state: 'ready', failure: null, cached: 0, done: 4, source: 'golden-debian12' });
  const run = expect.stringContaining('RUN cat');
  const texts = first.steps.map(({ line, text }) => [line, text]);
  expect(texts).toEqual([
    [1, 'FROM ./root.tar.gz'],
    [2, run],
    [3, 'COPY more /srv/'],
    [null, 'finish'],
  ]);
  for (const { command } of first.steps) {
    expect(await mayfly.record(command?.sandboxId ?? '')).toMatchObject({ state: 'destroyed', failure: null });
  }
  const clone = await mayfly.create(mayfly.input({ source: first.name }));
  expect(clone).toMatchObject({ state: 'running' });
  const said = await operations.sh(
    clone.id,
    'id -un; cat /own /seen /srv/more; ls -A / /var/tmp; grep sandbox /etc/passwd',
  );
  expect(said).toContain('sandbox\nthis root is its own\nthis root is its own\nmore\n');
  expect(said).toContain('sandbox:x:1001:1001::/home/sandbox:/bin/bash');
  expect(said).not.toContain('mayfly-root');
  await mayfly.destroy(clone.id);
  expect(await images.whole(`${dockerfile}\nRUN true`, wish)).toMatchObject({ state: 'ready', cached: 3, done: 5 });
});

test('an OCI layout works as folder and as archive, with its layers in order and its image config', async ({
  mayfly,
  operations,
  images,
}) => {
  const second = Buffer.from(
    buildTar([file('.wh.own', ''), file('srv/second', 'second\n', 0o4755), file('etc/.wh.none', '')]),
  );
  const config = { Env: ['GREETING=hi'], WorkingDir: '/srv', Cmd: ['sleep', '1'], Labels: { a: 'b' } };
  const layout = { layers: [root, second], config };
  const context = await send([...ociLayout('image', layout), file('image.tar', ociArchive(layout))]);
  const steps = '\nRUN test ! -e /own && cat second >said && echo $GREETING >>said';
  const image = await images.whole(`FROM ./image${steps}`, context);
  expect(image).toMatchObject({ state: 'ready', failure: null, cached: 0, done: 3 });
  expect(image.settings).toMatchObject({ workdir: '/srv', cmd: ['sleep', '1'], labels: { a: 'b' } });
  const clone = await mayfly.create(mayfly.input({ source: image.name }));
  const look = 'cat /srv/said; stat -c %a /srv/second; cat /etc/profile.d/mayfly-image.sh; ls -A / /etc';
  const said = await operations.sh(clone.id, look);
  expect(said).toContain("second\nhi\n4755\nexport GREETING='hi'\n");
  expect(said).not.toContain('.wh.');
  await mayfly.destroy(clone.id);
  expect(await images.whole(`FROM ./image.tar${steps}`, context)).toMatchObject({ state: 'ready', cached: 3 });
});

test('a root that cannot boot, or is invalid, fails with the line of its FROM, and leaves no residue', async ({
  mayfly,
  images,
}) => {
  const shell = file('bin/sh', 'a shell', 0o755);
  const layer = Buffer.from(buildTar([shell]));
  const context = Buffer.from(
    buildTar([
      file('nothing.tar', Buffer.from(buildTar([file('etc/passwd', '')]))),
      file('static.tar', layer),
      file('broken.tar', Buffer.from(buildTar([shell, file('lib64/ld-linux-x86-64.so.2', 'none', 0o755)]))),
      file('musl.tar', Buffer.from(buildTar([shell, file('lib/ld-musl-x86_64.so.1', '')]))),
      file('hostile.tar', Buffer.from(buildTar([shell, file('srv/../../../../etc/passwd', 'mine')]))),
      file('text.tar', 'no archive'.repeat(100)),
    ]),
  ).toString('base64');
  const cases = [
    ['nothing.tar', 'it has no shell'],
    ['static.tar', 'it has no libc'],
    ['broken.tar', 'its /bin/sh does not run'],
    ['musl.tar', 'its libc is musl'],
    ['hostile.tar', 'it leads out of the archive'],
    ['text.tar', 'it is no tar archive'],
  ] as const;
  const built = await Promise.all(
    cases.map(([name]) => images.whole(`ARG nothing\nFROM ./${name}\nRUN true`, { context })),
  );
  for (const [n, [name, why]] of cases.entries()) {
    const failure = { code: 'image_step_failed', line: 2, exitCode: 1, log: expect.stringContaining(why) };
    expect({ name, image: built[n] }).toMatchObject({ name, image: { state: 'failed', done: 0, failure } });
  }
  expect(await mayfly.residue()).toEqual([]);
  expect(await images.sources()).toEqual([]);
});

test('an error that is visible before any step runs is refused with the line of FROM', async ({ images }) => {
  const layers = [Buffer.from(buildTar([file('a', 'a')]))];
  const image = ociLayout('image', { layers });
  const without = (part: string) => image.filter(({ path }) => !path.includes(part));
  const layerPath = image.find(({ path }) => path.includes('blobs'))?.path ?? '';
  const changed = image.map((entry) => (entry.path === layerPath ? file(entry.path, 'other bytes') : entry));
  const saying = (config: object) => ociLayout('image', { layers, config });
  const arm = ociLayout('image', { layers, platform: { os: 'linux', architecture: 'arm64' } });
  const link = { ...file('image', ''), type: 'symlink', link: '/etc' } as const;
  for (const [entries, from, why] of [
    [[], './image', 'is not in the context'],
    [[link], './image', 'a link that leads out'],
    [[file('image/manifest.json', '[]')], './image', 'docker save'],
    [[file('image/etc/passwd', '')], './image', 'neither an archive nor an OCI layout'],
    [without('oci-layout'), './image', 'neither'],
    [without(layerPath), './image', 'is missing'],
    [changed, './image', `is sha256:`],
    [arm, './image', 'it has no image for linux/amd64, but for linux/arm64'],
    [saying({ User: 'no/de:node' }), './image', 'which is no user'],
    [saying({ Env: ["A;touch /x=' '"] }), './image', 'is no NAME=value'],
    [saying({ WorkingDir: '/a\nExecStartPre=/b' }), './image', 'a control character'],
    [[file('image', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0]))], './image', 'zstd'],
    [[file('image', ociArchive({ layers }).subarray(0, 3_000))], './image', 'cut off'],
    [image, 'image/', 'begins with ./'],
  ] as const) {
    const context = Buffer.from(buildTar(entries)).toString('base64');
    const body = { name: images.name(), dockerfile: `ARG x\nFROM ${from}\n`, context };
    const response = await door().call('POST', '/v1/images', body);
    const { code, detail } = (await response.json()) as { code: string; detail: string };
    expect({ why, code, detail }).toEqual({
      why,
      code: 'dockerfile_unsupported',
      detail: expect.stringContaining(why),
    });
    expect(detail).toContain('Line 2: ');
  }
  const body = { name: images.name(), dockerfile: 'FROM ./root.tar\n' };
  expect(await (await door().call('POST', '/v1/images', body)).json()).toMatchObject({
    code: 'dockerfile_unsupported',
  });
});
