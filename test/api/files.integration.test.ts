import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { filePathInUrl } from '../../model/files/file-path.ts';
import { sweep } from '../support/sweep.ts';
import { NAMES, useFiles } from './guest-files.ts';
import { jsonOf } from './support.ts';

const MIB = 1_048_576;
const { files, client, id, folder, at, ask } = useFiles();

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

/** Counts the agent's descriptors on a path. */
async function heldBy(pid: number | undefined, path: string): Promise<number> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(path)).length;
}

describe('names', () => {
  sweep(NAMES.map((name) => [JSON.stringify(name.toString('latin1')).slice(0, 40), name] as const))(
    '%s survives',
    async ([, name]) => {
      const path = at(name);
      const content = Buffer.concat([Buffer.from('of '), name]);
      const written = await client().files.write(id(), path, content);
      expect(Buffer.from(written.nameBase64 ?? Buffer.from(written.name).toString('base64'), 'base64')).toEqual(name);
      expect(await readFile(path)).toEqual(content);
      expect(await client().files.stat(id(), path)).toMatchObject({ type: 'file', size: content.length, mode: '0644' });
      const read = await client().files.read(id(), path);
      expect(Buffer.from(await new Response(read.body).arrayBuffer())).toEqual(content);
      const { items } = await client().files.list(id(), folder());
      expect(items).toHaveLength(1);
      expect((await ask(items[0]?.path ?? '')).status).toBe(200);
      await client().files.remove(id(), path);
      expect((await client().files.list(id(), folder())).items).toEqual([]);
    },
  );

  it('may be written with plain slashes, encoded, or with the leading slash', async () => {
    await mkdir(at('a'));
    await writeFile(at('a/b'), 'content');
    const plain = filePathInUrl(at('a/b'));
    for (const path of [plain, `/${plain}`, encodeURIComponent(at('a/b').toString())]) {
      expect(await (await ask(path)).text()).toBe('content');
    }
  });

  it('with . and .. and // in them resolve as on the system', async () => {
    await mkdir(at('a'));
    await symlink('/usr', at('a/link'));
    await writeFile(at('b'), 'content');
    expect(await textOf((await client().files.read(id(), at('a/..//./b'))).body)).toBe('content');
    expect((await client().files.list(id(), at('a/link/..'))).items.map(({ name }) => name)).toContain('usr');
  });

  it('reach nothing private to a process, also through links of the guest', async () => {
    const { pid } = files().agent.agent;
    await symlink(`/proc/${pid}/root`, at('root'));
    await symlink(`/proc/${pid}/environ`, at('environ'));
    const paths = ['root', 'cwd', 'fd/0', 'environ', 'mem', 'map_files', `task/${pid}/environ`].map(
      (name) => `/proc/${pid}/${name}`,
    );
    for (const path of [...paths, `${at('root').toString()}/etc/hostname`, at('environ').toString()]) {
      const response = await ask(filePathInUrl(Buffer.from(path)));
      expect([path, response.status, (await jsonOf<{ code: string }>(response)).code]).toEqual([
        path,
        403,
        'file_forbidden',
      ]);
    }
  });

  it('of the root directory are listed', async () => {
    const page = await jsonOf<{ items: { path: string }[] }>(ask(''));
    expect(page.items.map(({ path }) => path)).toContain('etc');
  });

  it.each([
    ['%', 422, 'path'],
    ['%zz', 422, 'path'],
    ['a%00b', 422, 'path'],
    [`${'x'.repeat(4_096)}`, 422, 'path'],
    ['etc/passwd?mode=1', 422, 'mode'],
    ['etc?limit=0', 422, 'limit'],
    ['etc?format=zip', 422, 'format'],
    ['etc?cursor=%20', 422, 'cursor'],
  ])('that are not valid are refused: %.20s', async (rest, status, field) => {
    const response = await ask(rest);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code: 'invalid_request', errors: [{ field }] });
  });
});

describe('content', () => {
  it('that is not read waits in the guest, and ends there when its reader disconnects', async () => {
    await writeFile(at('large'), new Uint8Array(64 * MIB));
    const before = process.memoryUsage.rss();
    const controller = new AbortController();
    const read = await client().files.read(id(), at('large'), { signal: controller.signal });
    const reader = read.body.getReader();
    await reader.read();
    const { pid } = files().agent.agent;
    expect(await heldBy(pid, at('large').toString())).toBe(1);
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * MIB);
    controller.abort();
    await expect.poll(() => heldBy(pid, at('large').toString())).toBe(0);
  });

  it('that breaks off changes nothing', async () => {
    await writeFile(at('file'), 'old');
    for (const path of ['file', 'new', 'deep/new']) {
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new Uint8Array(2 * MIB));
        },
      });
      const controller = new AbortController();
      const sent = client().files.write(id(), at(path), stream, { signal: controller.signal, parents: true });
      sent.catch(() => {});
      await expect
        .poll(async () => (await readdir(folder(), { recursive: true })).some((n) => n.includes('.mayfly-')))
        .toBe(true);
      controller.abort();
      await expect(sent).rejects.toThrow();
      await expect.poll(() => readdir(folder())).toEqual(['file']);
    }
    expect(await readFile(at('file'), 'utf8')).toBe('old');
  });

  it('that is shorter than announced changes nothing', async () => {
    const socket = connect(Number(new URL(files().url).port), '127.0.0.1');
    const path = `/v1/sandboxes/${id()}/files/${filePathInUrl(at('short'))}`;
    const head = `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${files().key}\r\nContent-Length: 100\r\n\r\n`;
    socket.write(`${head}only this`);
    await expect.poll(async () => (await readdir(folder())).length).toBe(1);
    socket.destroy();
    await expect.poll(() => readdir(folder())).toEqual([]);
  });

  it('may have no type and no length, and be empty', async () => {
    expect((await ask(filePathInUrl(at('empty')), { method: 'PUT' })).status).toBe(201);
    expect(await (await ask(filePathInUrl(at('empty')))).text()).toBe('');
    expect(
      (
        await ask(filePathInUrl(at('json')), {
          method: 'PUT',
          body: '{"no',
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(201);
    expect(await readFile(at('json'), 'utf8')).toBe('{"no');
  });

  it('is served in ranges', async () => {
    await writeFile(at('digits'), '0123456789');
    const path = filePathInUrl(at('digits'));
    const part = await ask(path, { headers: { range: 'bytes=2-4' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 2-4/10', '234']);
    const etag = part.headers.get('etag') ?? '';
    const fresh = await ask(path, { headers: { range: 'bytes=-2', 'if-range': etag } });
    expect([fresh.status, await fresh.text()]).toEqual([206, '89']);
    const stale = await ask(path, { headers: { range: 'bytes=-2', 'if-range': '"0-0-0"' } });
    expect([stale.status, await stale.text()]).toEqual([200, '0123456789']);
    const outside = await ask(path, { headers: { range: 'bytes=10-' } });
    expect([outside.status, outside.headers.get('content-range')]).toEqual([416, 'bytes */10']);
    expect(await outside.json()).toMatchObject({ code: 'range_not_satisfiable' });
    expect(await textOf((await client().files.read(id(), at('digits'), { first: 8 })).body)).toBe('89');
  });

  it('is never served as a page', async () => {
    await writeFile(at('page.html'), '<script>');
    const { headers } = await ask(filePathInUrl(at('page.html')));
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe('attachment');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('gets the requested mode and owner', async () => {
    const path = at('deep/er/file');
    await expect(client().files.write(id(), path, Buffer.from('x'))).rejects.toMatchObject({ code: 'file_not_found' });
    await client().files.write(id(), path, Buffer.from('x'), { parents: true, mode: '0750', user: 'root' });
    expect(((await stat(path)).mode & 0o7777).toString(8)).toBe('750');
    expect([(await stat(path)).uid, (await stat(at('deep'))).uid]).toEqual([0, 0]);
    const wrong = client().files.write(id(), path, Buffer.from('y'), { user: 'no-such-user' });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await readFile(path, 'utf8')).toBe('x');
  });
});
