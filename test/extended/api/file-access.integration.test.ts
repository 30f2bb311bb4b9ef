import { describe, expect, it, vi } from 'vitest';
import { filePathInUrl } from '../../../model/files/file-path.ts';
import { useFiles } from '../../api/guest-files.ts';
import { jsonOf } from '../../api/support.ts';

const MIB = 1_048_576;
const { files, client, id, folder, at, ask } = useFiles();

describe('an access', () => {
  it('is in the audit before it happens, even if it then fails', async () => {
    const path = at('a\nb');
    const before = ((await files().door.store.audit.head(id()))?.count ?? 0) - 1;
    await client().files.write(id(), path, Buffer.from('secret content'));
    await client()
      .files.read(id(), path)
      .then(({ body }) => body.cancel());
    await client().files.remove(id(), path);
    await expect(client().files.stat(id(), path)).rejects.toMatchObject({ code: 'file_not_found', status: 404 });
    const entries = (await files().door.store.audit.entries(id(), { after: before, limit: 200 })).map(
      ({ body }) => body,
    );
    expect(entries.join()).not.toContain('secret');
    expect(entries.map((body) => JSON.parse(body))).toMatchObject(
      (['write', 'read', 'remove', 'stat'] as const).map((operation) => ({
        kind: { write: 'file.written', read: 'file.read', remove: 'file.removed', stat: 'file.read' }[operation],
        actor: { apiKeyId: expect.stringMatching(/./) },
        detail: { operation, path: `${folder()}/a%0Ab` },
      })),
    );
    expect((await files().door.store.activity.get(id())).usedAt).toBeGreaterThan(Date.now() - 60_000);
  });

  it('counts as use of the sandbox for as long as bytes move', async () => {
    const touch = vi.spyOn(files().door.store.activity, 'touch');
    try {
      await client().files.write(id(), at('large'), new Uint8Array(4 * MIB));
      expect(touch.mock.calls.length).toBeGreaterThan(4);
      touch.mockClear();
      await (await client().files.read(id(), at('large'))).body.pipeTo(new WritableStream());
      expect(touch.mock.calls.length).toBeGreaterThan(4);
      expect(new Set(touch.mock.calls.flat())).toEqual(new Set([id()]));
    } finally {
      touch.mockRestore();
    }
  });

  it('needs the right scope, and a sandbox that runs', async () => {
    const [reader, writer] = [await files().door.key('sandboxes:read'), await files().door.key('sandboxes:write')];
    const path = filePathInUrl(at('file'));
    expect((await ask(path, { method: 'PUT', body: 'x' }, reader)).status).toBe(403);
    expect((await ask(path, { method: 'DELETE' }, reader)).status).toBe(403);
    expect((await ask(path, {}, writer)).status).toBe(403);
    expect((await ask(path, { method: 'HEAD' }, writer)).status).toBe(403);
    expect((await ask(path, { method: 'PUT', body: 'x' }, writer)).status).toBe(201);
    expect((await ask(path, { method: 'POST', body: 'x' })).status).toBe(405);
    for (const [state, code] of [
      ['creating', 'sandbox_not_running'],
      ['destroying', 'sandbox_ended'],
    ] as const) {
      await files().door.store.sandboxes.update(id(), { state });
      expect(await jsonOf(ask(path))).toMatchObject({ code }); // the client would retry for a while
    }
    await files().door.store.sandboxes.update(id(), { state: 'running' });
    await expect(client().files.stat('sbx-0000000000000000', '/etc')).rejects.toMatchObject({
      code: 'sandbox_not_found',
    });
  });
});
