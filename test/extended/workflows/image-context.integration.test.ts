import { createHash, randomBytes } from 'node:crypto';
import { expect, vi } from 'vitest';
import type { Image } from '../../../clients/typescript/http/openapi.ts';
import { deriveStepCommandId } from '../../../model/image/image-saga.ts';
import { buildTar, type TarEntry } from '../../../model/image/tar.ts';
import { useImageCases } from '../../support/image-cases.ts';

/** Contexts too large for a request: uploaded separately, in chunks, and delivered to the step that needs them. */
const { test, door } = useImageCases();

const file = (path: string, bytes: Uint8Array): TarEntry => ({ path, type: 'file', mode: 0o640, bytes, link: null });
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function send(
  archive: Uint8Array,
  digest = digestOf(archive),
  by: Record<string, string> = {},
): Promise<{ status: number; answer: unknown }> {
  const headers = { 'Content-Type': 'application/x-tar', ...by };
  const response = await door().call('PUT', `/v1/image-contexts/${digest}`, Buffer.from(archive), headers);
  return { status: response.status, answer: await response.json() };
}

test('a context larger than a request is copied like a small one, and has the same cache keys', async ({
  mayfly,
  operations,
  images,
}) => {
  const large = randomBytes(5 * 1_048_576 + 77);
  const small = [file('small', Buffer.from('s')), { ...file('dir/link', Buffer.from('')), type: 'symlink', link: 'x' }];
  const entries = [...small, file('large', large), file('dir/also', large)] as TarEntry[];
  const archive = buildTar(entries);
  const contextDigest = digestOf(archive);
  expect((await door().call('GET', `/v1/image-contexts/${contextDigest}`)).status).toBe(404);
  expect(await send(archive)).toMatchObject({ status: 201, answer: { bytes: archive.length, entries: 4 } });
  expect(await send(archive)).toMatchObject({ status: 200 });
  const only = 'COPY small /srv/small\n';
  const copies = 'COPY --chmod=0644 large /srv/one\nCOPY --chmod=0755 dir <<here /srv/dir/\nhere\n';
  const image = await images.build(only + copies, { contextDigest });
  expect(image).toMatchObject({ state: 'ready', failure: null, cached: 0 });
  const clone = await mayfly.create(mayfly.input({ source: image.name }));
  const look =
    "cd /srv; sha256sum <one; sha256sum <dir/also; readlink dir/link; stat -c '%a %s' one small; ls /var/tmp dir";
  expect(await operations.sh(clone.id, look)).toBe(
    `${digestOf(large)}  -\n${digestOf(large)}  -\nx\n644 ${large.length}\n640 1\n/var/tmp:\n\ndir:\nalso\nhere\nlink\n`,
  );
  await mayfly.destroy(clone.id);
  const context = Buffer.from(buildTar(entries.slice(0, 1))).toString('base64');
  expect(await images.build(only, { context })).toMatchObject({ state: 'ready', cached: 1 });
});

test('its step does not start before the context is in the builder', async ({ mayfly, images }) => {
  const archive = buildTar([file('a', randomBytes(100_000))]);
  await send(archive);
  const { sentContexts } = mayfly.store;
  const read = sentContexts.read.bind(sentContexts);
  const begun: unknown[] = [];
  vi.spyOn(sentContexts, 'read').mockImplementation(async function* (id, from, length) {
    const [building] = (await mayfly.store.images.list({ project: 'default', limit: 1 })).items;
    begun.push(building && (await mayfly.store.commands.get(deriveStepCommandId({ imageId: building.id, index: 0 }))));
    yield* read(id, from, length);
  });
  const image = await images.build('COPY a /a\n', { contextDigest: digestOf(archive) });
  vi.restoreAllMocks();
  expect([image.state, begun]).toEqual(['ready', [null]]);
});

test('a context with a wrong digest, cut or invalid, is refused and leaves no bytes', async ({ mayfly, images }) => {
  const archive = buildTar([file('a', randomBytes(2 * 1_048_576))]);
  const before = await mayfly.store.sentContexts.bytesOf('default');
  const pipe = Buffer.from(archive);
  pipe.write('6', 1_024 + 156);
  for (const [bytes, digest, code] of [
    [archive, '0'.repeat(64), 'context_differs'],
    [archive.subarray(0, 1_600_000), undefined, 'invalid_request'],
    [randomBytes(1_000), undefined, 'invalid_request'],
    [pipe, undefined, 'invalid_request'],
  ] as const) {
    expect(await send(bytes, digest)).toMatchObject({ answer: { code } });
  }
  expect(await mayfly.store.sentContexts.bytesOf('default')).toBe(before);
  const body = { name: images.name(), dockerfile: 'FROM golden-debian12\nCOPY a /', contextDigest: digestOf(archive) };
  const answer = (await (await door().call('POST', '/v1/images', body)).json()) as Image & { code: string };
  expect(answer.code).toBe('context_not_found');
});

test('concurrent uploads cannot exceed the disk quota of their project', async ({ mayfly }) => {
  const project = `p${randomBytes(5).toString('hex')}`;
  const diskBytes = 40 * 1_048_576;
  await mayfly.store.projects.create(project, { sources: null });
  await mayfly.store.projects.change(project, { limits: { diskBytes } });
  const { secret } = await mayfly.store.apiKeys.create({ name: 'test', project, scopes: ['admin'] });
  const archives = [1, 2, 3].map(() => buildTar([file('a', randomBytes(24 * 1_048_576))]));
  const by = { Authorization: `Bearer ${secret}` };
  const answers = await Promise.all(archives.map((archive) => send(archive, undefined, by)));
  const kept = answers.filter(({ status }) => status === 201);
  expect(kept.length).toBeLessThanOrEqual(1);
  for (const one of answers) if (!kept.includes(one)) expect(one).toMatchObject({ answer: { code: 'quota_exceeded' } });
  expect(await mayfly.store.sentContexts.bytesOf(project)).toBe(kept.length * (archives[0]?.length ?? 0));
});

test('is deleted after a long time without use', async ({ mayfly }) => {
  const archive = buildTar([file('a', randomBytes(1_500_000))]);
  const before = new Date();
  expect((await send(archive)).status).toBe(201);
  const { sentContexts } = mayfly.store;
  const unusedSince = async (time: Date) =>
    (await sentContexts.unused(time)).filter(({ digest }) => digest === digestOf(archive));
  expect(await unusedSince(before)).toEqual([]);
  const [kept] = await unusedSince(new Date(Date.now() + 60_000));
  if (!kept) throw new Error('it is not there');
  await sentContexts.remove(kept.id, new Date(kept.usedAt.getTime() - 1));
  expect(await sentContexts.use('default', kept.digest)).toMatchObject({ bytes: archive.length });
  await sentContexts.remove(kept.id, new Date());
  expect(await sentContexts.use('default', kept.digest)).toBeNull();
  await expect(sentContexts.read(kept.id, 0, 1).next()).rejects.toThrow('is missing');
});
