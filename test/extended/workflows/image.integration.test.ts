import { describe, expect } from 'vitest';
import { buildTar, type TarEntry } from '../../../model/image/tar.ts';
import { eventually } from '../../support/eventually.ts';
import { useImageCases } from '../../support/image-cases.ts';

/** Builds of Dockerfiles on process trees: steps are commands and snapshots, and cached steps do not run again. */
const { test, mayfly: all, door } = useImageCases();

describe.concurrent('an image', () => {
  test('reuses unchanged steps, and runs a changed step and all after it', async ({ operations, mayfly, images }) => {
    const of = (second: string) => `RUN date +%s%N > /stamp\nRUN ${second}\nRUN echo three`;
    const first = await images.build(of('echo two'));
    expect(first).toMatchObject({ state: 'ready', cached: 0, done: 4 });
    const again = await images.build(of('echo two'));
    expect(again).toMatchObject({ state: 'ready', cached: 4, done: 4, snapshotId: first.snapshotId });
    expect(await images.build(of('echo two'), { name: first.name })).toMatchObject({ id: first.id, state: 'ready' });
    const changed = await images.build(of('echo other'));
    expect(changed).toMatchObject({ state: 'ready', cached: 1, done: 4 });
    const stamps: string[] = [];
    for (const { name } of [first, changed]) {
      const clone = await mayfly.create(mayfly.input({ source: name }));
      stamps.push(await operations.sh(clone.id, 'cat /stamp'));
      await mayfly.destroy(clone.id);
    }
    expect(stamps[0]).toBe(stamps[1]);
  });

  // FROM is not a program: the heredoc is the script of its step, and its last command fails.
  test('runs a heredoc of RUN as a script, and a failed one keeps the steps before it cached', async ({ images }) => {
    const of = (last: string) => `ENV A=b\nRUN echo first\nRUN <<EOF\necho one\n${last}\nEOF`;
    const failed = await images.build(of('FROM here'));
    expect(failed).toMatchObject({ state: 'failed', failure: { line: 4, exitCode: 127 } });
    expect(await images.build(of('true'))).toMatchObject({ state: 'ready', cached: 1 });
  });

  test('a deleted snapshot is built again (case 8)', async ({ mayfly, operations, images }) => {
    const dockerfile = `RUN echo deleted > /d`;
    const first = await images.build(dockerfile);
    const { items } = await mayfly.store.snapshots.list({ sandboxId: first.builderId, limit: 10 });
    for (const snapshot of items) await operations.delete(snapshot);
    expect(await images.build(dockerfile)).toMatchObject({ state: 'ready', cached: 0 });
  });

  test('is cancelled during a step, with all its processes (case 10)', async ({ mayfly, images }) => {
    const begun = await images.begin('RUN true\nRUN sleep 1000 & sleep 1000');
    await images.until(begun.id, ({ done }) => done === 1);
    const builder = `/v1/sandboxes/${begun.builderId}`;
    for (const [method, path, body] of [
      ['POST', '/commands', { command: 'echo mine >/srv/theirs' }],
      ['POST', '/snapshots', {}],
      ['PUT', '/files/srv/theirs', Buffer.from('mine')],
      ['DELETE', '/files/srv/theirs', undefined],
    ] as const) {
      const bytes = { 'Content-Type': 'application/octet-stream' };
      const response = await door().call(method, builder + path, body, method === 'PUT' ? bytes : {});
      expect([method, path, response.headers.get('X-Mayfly-Code')]).toEqual([method, path, 'sandbox_not_running']);
    }
    expect((await door().call('GET', builder)).status).toBe(200);
    await images.cancel(begun);
    expect(await images.over(begun)).toMatchObject({ state: 'cancelled', failure: null, done: 1 });
    const said = ['requested', 'cancel-asked', 'cancelled'].map((kind) => `image.${kind} ${begun.createdBy.apiKeyId}`);
    expect(await images.audit(begun)).toEqual(said);
    expect(await mayfly.record(begun.builderId)).toMatchObject({ state: 'destroyed' });
    expect(await mayfly.residue()).toEqual([]);
    expect(await images.sources()).toEqual([]);
  });

  test('that is requested twice at once is built once (case 5)', async ({ images }) => {
    const name = images.name();
    const [a, b] = await Promise.all([1, 2].map(() => images.begin('RUN echo same', { name })));
    expect(a?.id).toBe(b?.id);
    if (a) expect(await images.over(a)).toMatchObject({ state: 'ready' });
  });

  test('contains the files that COPY takes of the context, and is cached by bytes, not times (case 4)', async ({
    mayfly,
    operations,
    images,
  }) => {
    const dockerfile = [
      'RUN mkdir -p /srv/there /srv/real && ln -s real /srv/linked && chmod 0711 /srv/there',
      'COPY one.txt /srv/there',
      'COPY one.txt /srv/new/name',
      'COPY --chown=sandbox --chmod=4750 dir *.json <<here /srv/linked/',
      'of $HOME',
      'here',
      'RUN cat /srv/linked/sub/deep',
    ].join('\n');
    const at = (path: string, text: string): TarEntry => {
      return { path, type: 'file', mode: 0o755, bytes: Buffer.from(text), link: null };
    };
    const folder = (path: string): TarEntry => ({ ...at(path, ''), type: 'directory' });
    const tree = (deep: string) => [
      at('.dockerignore', '*.log\n!keep.log\n'),
      at('one.txt', 'one'),
      folder('dir'),
      folder('dir/sub'),
      at('dir/sub/deep', deep),
      { ...at('dir/link', ''), type: 'symlink' as const, link: '/etc/hostname' },
      at('a.json', '{}'),
      at('b.json', '[]'),
    ];
    const context = (deep: string) => Buffer.from(buildTar(tree(deep))).toString('base64');
    const first = await images.build(dockerfile, { context: context('1') });
    expect(first).toMatchObject({ state: 'ready', failure: null, cached: 0 });
    expect(await mayfly.store.imageContexts.get(first.id)).toBeNull();
    const clone = await mayfly.create(mayfly.input({ source: first.name }));
    const look =
      "cd /srv; cat there/one.txt new/name; stat -c '%n %a %U:%G' there new/name linked real/sub/deep real/link real/b.json real/here; readlink linked real/link; cat real/here";
    expect(await operations.sh(clone.id, look)).toBe(
      [
        'oneonethere 711 root:root',
        'new/name 755 root:root',
        'linked 777 root:root',
        'real/sub/deep 4750 sandbox:sandbox',
        'real/link 777 sandbox:sandbox',
        'real/b.json 4750 sandbox:sandbox',
        'real/here 4750 sandbox:sandbox',
        'real',
        '/etc/hostname',
        'of \n',
      ].join('\n'),
    );
    await mayfly.destroy(clone.id);
    expect(await images.build(dockerfile, { context: context('1') })).toMatchObject({ cached: 6, state: 'ready' });
    expect(await images.build(dockerfile, { context: context('2') })).toMatchObject({ cached: 3, state: 'ready' });
  });
});

test('continues after control worker and host worker restart during a step, which runs once (case 1)', async ({
  mayfly,
  operations,
  images,
}) => {
  const begun = await images.begin('RUN echo run >> /runs; sleep 4; echo end >> /runs\nRUN echo next >> /runs');
  const { builderId } = begun;
  await eventually(
    async () => (await mayfly.store.commands.list({ sandboxId: builderId, limit: 1 })).items[0]?.state,
    'running',
  );
  await all().startControl();
  await mayfly.host?.stop();
  await mayfly.startHost();
  const image = await images.over(begun);
  expect(image).toMatchObject({ state: 'ready', failure: null, done: 3 });
  const clone = await mayfly.create(mayfly.input({ source: image.name }));
  expect(await operations.sh(clone.id, 'cat /runs')).toBe('run\nend\nnext\n');
  await mayfly.destroy(clone.id);
});
