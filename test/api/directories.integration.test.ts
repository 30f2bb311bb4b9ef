import { execFileSync } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { filePathInUrl } from '../../model/files/file-path.ts';
import { NAMES, useFiles } from './guest-files.ts';

const { client, id, folder, at, ask } = useFiles();

describe('directories', () => {
  it('are listed page by page, with the type of every entry', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await writeFile(at(name), name.repeat(3));
    await symlink('no\nwhere', at('link'));
    const names: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: Awaited<ReturnType<MayflyClient['files']['list']>> = await client().files.list(id(), folder(), {
        limit: 4,
        ...(cursor && { cursor }),
      });
      names.push(...page.items.map(({ name }) => name));
      cursor = page.nextCursor;
    }
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e', 'link']);
    const { items } = await client().files.list(id(), folder());
    expect(items[0]).toMatchObject({ type: 'file', size: 3, user: 'root', uid: 0 });
    expect(items[5]).toMatchObject({ type: 'symlink', target: 'no\nwhere' });
    await symlink(Buffer.alloc(4_095, 0xff), at('long'));
    const long = await ask(filePathInUrl(at('long')), { method: 'HEAD' });
    expect(long.headers.get('x-mayfly-target')).toBe('%FF'.repeat(4_095));
    expect(new Date(items[0]?.mtime ?? '').getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('are not content, and files are not directories', async () => {
    await writeFile(at('file'), 'x');
    await expect(client().files.read(id(), folder())).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client().files.list(id(), at('file'))).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client().files.write(id(), folder(), Buffer.from('x'))).rejects.toMatchObject({
      code: 'file_conflict',
    });
    await expect(client().files.readArchive(id(), at('file'))).rejects.toMatchObject({ code: 'file_conflict' });
    await expect(client().files.remove(id(), folder())).rejects.toMatchObject({ code: 'file_conflict' });
    expect((await ask(`${filePathInUrl(at('file'))}?limit=1`)).status).toBe(409);
  });

  it('are downloaded and uploaded as archives, names unchanged', async () => {
    await mkdir(at('from/sub'), { recursive: true });
    for (const name of NAMES) await writeFile(Buffer.concat([at('from/sub/'), name]), name);
    await symlink('sub/x', at('from/link'));
    const archive = await client().files.readArchive(id(), at('from'));
    const result = await client().files.writeArchive(id(), at('to'), archive.body, { parents: true });
    expect(result.entries).toBe(NAMES.length + 3);
    const order = (list: Buffer[]) => list.sort((a, b) => a.compare(b));
    expect(order(await readdir(at('to/sub'), { encoding: 'buffer' }))).toEqual(order([...NAMES]));
    expect(await readFile(Buffer.concat([at('to/sub/'), Buffer.alloc(255, 0xff)]))).toEqual(Buffer.alloc(255, 0xff));
    expect(await readlink(at('to/link'))).toBe('sub/x');
    const accepted = await ask(filePathInUrl(at('to')), { headers: { accept: 'application/x-tar' } });
    expect(accepted.headers.get('content-type')).toBe('application/x-tar');
    execFileSync('tar', ['-t', '-f', '-'], { input: Buffer.from(await accepted.arrayBuffer()) });
  });

  it('refuse an archive with paths outside them', async () => {
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
      folder(),
      'from',
    ]);
    await expect(client().files.writeArchive(id(), at('to'), archive)).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect(await readdir(folder())).toEqual(['from', 'to']);
  });

  it('are removed with their contents when recursive', async () => {
    await mkdir(at('d/e'), { recursive: true });
    await symlink('/etc', at('d/e/link'));
    await client().files.remove(id(), at('d'), { recursive: true });
    await expect(lstat(at('d'))).rejects.toThrow();
    await expect(client().files.remove(id(), at('d'), { recursive: true })).rejects.toMatchObject({
      code: 'file_not_found',
    });
  });
});
