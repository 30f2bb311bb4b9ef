import { execFileSync } from 'node:child_process';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { filePathInUrl } from '../../model/file-path.ts';
import { type FileDoor, openFileDoor } from '../support/file-door.ts';
import type { RelayedAgent } from '../support/relayed-agent.ts';
import { type Door, jsonOf } from './support.ts';

const MIB = 1_048_576;
const NAMES = [
  'plain', 'with space', 'new\nline', `quo"te's`, 'back\\slash', '-rf', '--', '$(touch x)', '`x`', '*?[a]', '%2F', '%00',
  'ünï', 'a?b#c', 'a&b=c+d', '\u202egnp', '\x01\x7f', '~', ' ', '..a', 'é'.repeat(127), Buffer.from([0xff, 0xfe]),
  Buffer.alloc(255, 0xff),
].map((name) => Buffer.from(name as string)); // biome-ignore format: a table

let running: FileDoor;
let agent: RelayedAgent;
let door: Door;
let server: Server;
let client: MayflyClient;
let key: string;
let url: string;
let id: string;
let folder: string;

beforeAll(async () => {
  running = await openFileDoor();
  ({ agent, door, server, client, key, url, id } = running);
});
beforeEach(async () => {
  folder = await mkdtemp(join(process.env['MAYFLY_TEST_ROOT'] ?? tmpdir(), 'files-'));
  await chmod(folder, 0o755);
  return () => rm(folder, { recursive: true });
});
afterAll(() => running?.close());

function at(name: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name as string)]);
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

/** A request below `/files/` as any HTTP client may send it. */
function ask(rest: string, init: RequestInit & { duplex?: 'half' } = {}, secret = key): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}`, ...(init.headers as Record<string, string>) };
  return fetch(`${url}/v1/sandboxes/${id}/files/${rest}`, { ...init, headers });
}

/** Descriptors that the agent has on a path. */
async function heldBy(pid: number | undefined, path: string): Promise<number> {
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(path)).length;
}

describe('names', () => {
  it.each(NAMES.map((name) => [JSON.stringify(name.toString('latin1')).slice(0, 40), name] as const))(
    '%s survives',
    async (_shown, name) => {
      const path = at(name);
      const content = Buffer.concat([Buffer.from('of '), name]);
      const written = await client.files.write(id, path, content);
      expect(Buffer.from(written.nameBase64 ?? Buffer.from(written.name).toString('base64'), 'base64')).toEqual(name);
      expect(await readFile(path)).toEqual(content);
      expect(await client.files.stat(id, path)).toMatchObject({ type: 'file', size: content.length, mode: '0644' });
      const read = await client.files.read(id, path);
      expect(Buffer.from(await new Response(read.body).arrayBuffer())).toEqual(content);
      const { items } = await client.files.list(id, folder);
      expect(items).toHaveLength(1);
      expect((await ask(items[0]?.path ?? '')).status).toBe(200);
      await client.files.remove(id, path);
      expect((await client.files.list(id, folder)).items).toEqual([]);
    },
  );

  it('may be written with slashes as they are, encoded, or with the leading one', async () => {
    await mkdir(at('a'));
    await writeFile(at('a/b'), 'content');
    const plain = filePathInUrl(at('a/b'));
    for (const path of [plain, `/${plain}`, encodeURIComponent(at('a/b').toString())]) {
      expect(await (await ask(path)).text()).toBe('content');
    }
  });

  it('mean what they mean to the system, with . and .. and // in them', async () => {
    await mkdir(at('a'));
    await symlink('/usr', at('a/link'));
    await writeFile(at('b'), 'content');
    expect(await textOf((await client.files.read(id, at('a/..//./b'))).body)).toBe('content');
    expect((await client.files.list(id, at('a/link/..'))).items.map(({ name }) => name)).toContain('usr');
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
  it('of 1 GiB goes up and down through little memory', { timeout: 300_000 }, async () => {
    const path = at('large');
    const chunk = new Uint8Array(65_536).fill(7);
    const chunks = (1024 * MIB) / chunk.length;
    let left = chunks;
    const stream = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (left-- > 0) controller.enqueue(chunk);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    // Client, API and relay are all in this process.
    const warm = await client.files.write(id, at('warm'), new Uint8Array(32 * MIB));
    expect(warm.size).toBe(32 * MIB);
    await (await client.files.read(id, at('warm'))).body.pipeTo(new WritableStream());
    const before = process.memoryUsage.rss();
    let highest = before;
    const look = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss());
    }, 20);
    const began = performance.now();
    expect((await client.files.write(id, path, stream)).size).toBe(1024 * MIB);
    const between = performance.now();
    let received = 0;
    for await (const piece of (await client.files.read(id, path)).body) {
      received += piece.length;
      if (piece[0] !== 7 || piece.at(-1) !== 7) throw new Error('other bytes');
    }
    clearInterval(look);
    const seconds = [between - began, performance.now() - between].map((ms) => (ms / 1_000).toFixed(1));
    process.stdout.write(
      `1 GiB: up ${seconds[0]} s, down ${seconds[1]} s, ${((highest - before) / MIB).toFixed(0)} MiB more\n`,
    );
    expect(received).toBe(1024 * MIB);
    expect(highest - before).toBeLessThan(64 * MIB);
  });

  it('that nobody reads waits in the guest, and ends there when its reader leaves', async () => {
    await writeFile(at('large'), new Uint8Array(64 * MIB));
    const before = process.memoryUsage.rss();
    const controller = new AbortController();
    const read = await client.files.read(id, at('large'), { signal: controller.signal });
    const reader = read.body.getReader();
    await reader.read();
    const { pid } = agent.agent;
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
      const sent = client.files.write(id, at(path), stream, { signal: controller.signal, parents: true });
      sent.catch(() => {});
      await expect
        .poll(async () => (await readdir(folder, { recursive: true })).some((n) => n.includes('.mayfly-')))
        .toBe(true);
      controller.abort();
      await expect(sent).rejects.toThrow();
      await expect.poll(() => readdir(folder)).toEqual(['file']);
    }
    expect(await readFile(at('file'), 'utf8')).toBe('old');
  });

  it('that is shorter than announced changes nothing', async () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    const path = `/v1/sandboxes/${id}/files/${filePathInUrl(at('short'))}`;
    const head = `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 100\r\n\r\n`;
    socket.write(`${head}only this`);
    await expect.poll(async () => (await readdir(folder)).length).toBe(1);
    socket.destroy();
    await expect.poll(() => readdir(folder)).toEqual([]);
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

  it('is given in ranges', async () => {
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
    expect(await textOf((await client.files.read(id, at('digits'), { first: 8 })).body)).toBe('89');
  });

  it('is never a page of ours', async () => {
    await writeFile(at('page.html'), '<script>');
    const { headers } = await ask(filePathInUrl(at('page.html')));
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe('attachment');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('gets the mode and owner that were asked for', async () => {
    const path = at('deep/er/file');
    await expect(client.files.write(id, path, Buffer.from('x'))).rejects.toMatchObject({ code: 'file_not_found' });
    await client.files.write(id, path, Buffer.from('x'), { parents: true, mode: '0750', user: 'root' });
    expect(((await stat(path)).mode & 0o7777).toString(8)).toBe('750');
    expect([(await stat(path)).uid, (await stat(at('deep'))).uid]).toEqual([0, 0]);
    const wrong = client.files.write(id, path, Buffer.from('y'), { user: 'no-such-user' });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await readFile(path, 'utf8')).toBe('x');
  });
});

describe('directories', () => {
  it('are listed page by page, with what every entry is', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await writeFile(at(name), name.repeat(3));
    await symlink('no\nwhere', at('link'));
    const names: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof client.files.list>> = await client.files.list(id, folder, {
        limit: 4,
        ...(cursor && { cursor }),
      });
      names.push(...page.items.map(({ name }) => name));
      cursor = page.nextCursor;
    }
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e', 'link']);
    const { items } = await client.files.list(id, folder);
    expect(items[0]).toMatchObject({ type: 'file', size: 3, user: 'root', uid: 0 });
    expect(items[5]).toMatchObject({ type: 'symlink', target: 'no\nwhere' });
    await symlink(Buffer.alloc(4_095, 0xff), at('long'));
    const long = await ask(filePathInUrl(at('long')), { method: 'HEAD' });
    expect(long.headers.get('x-mayfly-target')).toBe('%FF'.repeat(4_095));
    expect(new Date(items[0]?.mtime ?? '').getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('of many entries are listed in little time and memory', { timeout: 120_000 }, async () => {
    execFileSync('sh', ['-c', 'cd "$1" && seq -f "entry-%06g" 1 20000 | xargs touch', '-', folder]);
    const response = await ask(`${filePathInUrl(Buffer.from(folder))}?limit=10000`);
    const page = await jsonOf<{ items: { name: string }[]; nextCursor: string }>(response);
    expect([page.items.length, page.items[0]?.name, page.items.at(-1)?.name]).toEqual([
      10_000,
      'entry-000001',
      'entry-010000',
    ]);
    expect(Buffer.from(page.nextCursor, 'base64url').toString()).toBe('entry-010000');
  });

  it('are not content, and files are not directories', async () => {
    await writeFile(at('file'), 'x');
    await expect(client.files.read(id, folder)).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client.files.list(id, at('file'))).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client.files.write(id, folder, Buffer.from('x'))).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client.files.readArchive(id, at('file'))).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client.files.remove(id, folder)).rejects.toMatchObject({ code: 'file_conflict' });
    expect((await ask(`${filePathInUrl(at('file'))}?limit=1`)).status).toBe(409);
  });

  it('go out and in as archives, names as they were', async () => {
    await mkdir(at('from/sub'), { recursive: true });
    for (const name of NAMES) await writeFile(Buffer.concat([at('from/sub/'), name]), name);
    await symlink('sub/x', at('from/link'));
    const archive = await client.files.readArchive(id, at('from'));
    const result = await client.files.writeArchive(id, at('to'), archive.body, { parents: true });
    expect(result.entries).toBe(NAMES.length + 3);
    const order = (list: Buffer[]) => list.sort((a, b) => a.compare(b));
    expect(order(await readdir(at('to/sub'), { encoding: 'buffer' }))).toEqual(order([...NAMES]));
    expect(await readFile(Buffer.concat([at('to/sub/'), Buffer.alloc(255, 0xff)]))).toEqual(Buffer.alloc(255, 0xff));
    expect(await readlink(at('to/link'))).toBe('sub/x');
    const accepted = await ask(filePathInUrl(at('to')), { headers: { accept: 'application/x-tar' } });
    expect(accepted.headers.get('content-type')).toBe('application/x-tar');
    execFileSync('tar', ['-t', '-f', '-'], { input: Buffer.from(await accepted.arrayBuffer()) });
  });

  it('take no archive that leaves them', async () => {
    await mkdir(at('from'));
    await mkdir(at('to'));
    const archive = execFileSync('tar', [
      '-c',
      '-P',
      '-f',
      '-',
      '--transform',
      's,.*,../escaped,',
      '-C',
      folder,
      'from',
    ]);
    await expect(client.files.writeArchive(id, at('to'), archive)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(await readdir(folder)).toEqual(['from', 'to']);
  });

  it('are removed with what is in them when told so', async () => {
    await mkdir(at('d/e'), { recursive: true });
    await symlink('/etc', at('d/e/link'));
    await client.files.remove(id, at('d'), { recursive: true });
    await expect(lstat(at('d'))).rejects.toThrow();
    await expect(client.files.remove(id, at('d'), { recursive: true })).rejects.toMatchObject({
      code: 'file_not_found',
    });
  });
});

describe('an access', () => {
  it('is in the audit before it happens, also one that then fails', async () => {
    const path = at('a\nb');
    const before = ((await door.store.audit.head(id))?.count ?? 0) - 1;
    await client.files.write(id, path, Buffer.from('secret content'));
    await client.files.read(id, path).then(({ body }) => body.cancel());
    await client.files.remove(id, path);
    await expect(client.files.stat(id, path)).rejects.toMatchObject({ code: 'file_not_found', status: 404 });
    const entries = (await door.store.audit.entries(id, { after: before, limit: 200 })).map(({ body }) => body);
    expect(entries.join()).not.toContain('secret');
    expect(entries.map((body) => JSON.parse(body))).toMatchObject(
      (['write', 'read', 'remove', 'stat'] as const).map((operation) => ({
        kind: { write: 'file.written', read: 'file.read', remove: 'file.removed', stat: 'file.read' }[operation],
        actor: { apiKeyId: expect.stringMatching(/./) },
        detail: { operation, path: `${folder}/a%0Ab` },
      })),
    );
    expect((await door.store.uses.get(id)).usedAt).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is a use of the sandbox for as long as bytes move', async () => {
    const touch = vi.spyOn(door.store.uses, 'touch');
    try {
      await client.files.write(id, at('large'), new Uint8Array(4 * MIB));
      expect(touch.mock.calls.length).toBeGreaterThan(4);
      touch.mockClear();
      await (await client.files.read(id, at('large'))).body.pipeTo(new WritableStream());
      expect(touch.mock.calls.length).toBeGreaterThan(4);
      expect(new Set(touch.mock.calls.flat())).toEqual(new Set([id]));
    } finally {
      touch.mockRestore();
    }
  });

  it('needs the right scope, and a sandbox that runs', async () => {
    const [reader, writer] = [await door.key('sandboxes:read'), await door.key('sandboxes:write')];
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
      await door.store.sandboxes.update(id, { state });
      await expect(client.files.stat(id, '/etc')).rejects.toMatchObject({ code });
    }
    await door.store.sandboxes.update(id, { state: 'running' });
    await expect(client.files.stat('sbx-0000000000000000', '/etc')).rejects.toMatchObject({
      code: 'sandbox_not_found',
    });
  });

  it('is described', async () => {
    const document = await jsonOf<{ paths: Record<string, object> }>(door.app.request('/openapi.json'));
    const path = document.paths['/v1/sandboxes/{id}/files/{path}'];
    expect(Object.keys(path ?? {}).sort()).toEqual(['delete', 'get', 'put']);
  });
});
