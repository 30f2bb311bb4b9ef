import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { sweep } from '../support/sweep.ts';
import { MAYFLY, useCopies } from './copy-cases.ts';

const NUL = Buffer.from([0]);
const NAMES = [
  'plain',
  'with space',
  'new\nline',
  `quo"te's`,
  '-rf',
  '--',
  '$(touch x)',
  '*?[a]',
  '%2F',
  'ünï',
  'a:b',
  'sbx-x:y',
];

const { there, here, guest, environment, remote, cp } = useCopies();

/** Runs a program to its end, without blocking: the API in this process answers it. */
async function piped(program: string, args: string[], input = Buffer.alloc(0)): Promise<Buffer> {
  const child = spawn(program, args, { env: environment(), stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [out, err, [code]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${err.toString()}`);
  return out;
}

/** Returns all names below a folder, as bytes: Node's recursive readdir returns text only. In order. */
function names(folder: string): Buffer[] {
  const found = execFileSync('find', ['.', '-mindepth', '1', '-printf', '%P\\0'], { cwd: folder }).toString('latin1');
  return found
    .split('\0')
    .slice(0, -1)
    .sort()
    .map((name) => Buffer.from(name, 'latin1'));
}

/** Returns names, types, modes and contents below a folder. */
async function tree(folder: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of names(folder)) {
    const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
    const found = await lstat(path);
    const content = found.isFile() ? await readFile(path, 'hex') : found.isSymbolicLink() ? await readlink(path) : '';
    const mode = found.isSymbolicLink() ? '' : (found.mode & 0o777).toString(8);
    lines.push(`${name.toString('latin1')} ${mode} ${content}`);
  }
  return lines;
}

describe('a file', () => {
  sweep(NAMES.map((name) => [JSON.stringify(name), name] as const))(
    'named %s is copied in and out',
    async ([, name]) => {
      const content = Buffer.from(`\0\xff${name}`, 'latin1');
      await writeFile(join(here(), name), content, { mode: 0o750 });
      expect(await cp(['--', join(here(), name), remote('/')])).toMatchObject({ code: 0 });
      expect(await readFile(join(guest(), name))).toEqual(content);
      expect((await stat(join(guest(), name))).mode & 0o777).toBe(0o750);
      await rm(join(here(), name));
      expect(await cp(['--', remote(`/${name}`), here()])).toMatchObject({ code: 0 });
      expect(await readFile(join(here(), name))).toEqual(content);
      expect((await stat(join(here(), name))).mode & 0o777).toBe(0o750 & ~process.umask());
    },
  );

  it('whose name is not UTF-8 is copied too, in a separate process', async () => {
    const raw = (path: string) =>
      Buffer.concat([Buffer.from(`${path}/a`), Buffer.from([0xff, 0xfe]), Buffer.from("b'")]);
    await writeFile(raw(here()), 'content');
    // spawn takes text only; xargs takes bytes.
    const run = (from: Buffer, to: Buffer) => piped('xargs', ['-0', MAYFLY, 'cp'], Buffer.concat([from, NUL, to, NUL]));
    const inGuest = Buffer.concat([Buffer.from(`${there().id}:`), raw(guest())]);
    await run(raw(here()), inGuest);
    expect(await readFile(raw(guest()), 'utf8')).toBe('content');
    await rm(raw(here()));
    await run(inGuest, Buffer.from(here()));
    expect(await readFile(raw(here()), 'utf8')).toBe('content');
  });

  it('replaces an existing file, keeps its mode, and follows links on both sides', async () => {
    await writeFile(join(guest(), 'real'), 'new');
    await symlink('real', join(guest(), 'link'));
    await writeFile(join(here(), 'target'), 'old', { mode: 0o600 });
    await symlink('target', join(here(), 'link'));
    expect(await cp([remote('/link'), join(here(), 'link')])).toMatchObject({ code: 0 });
    expect(await readFile(join(here(), 'target'), 'utf8')).toBe('new');
    expect((await stat(join(here(), 'target'))).mode & 0o777).toBe(0o600);
    expect((await lstat(join(here(), 'link'))).isSymbolicLink()).toBe(true);
  });

  it('is not written through a link that leads out of its folder', async () => {
    await writeFile(join(guest(), 'x'), 'new');
    await mkdir(join(here(), 'tree'));
    await writeFile(join(here(), 'mine'), 'mine');
    await symlink('../mine', join(here(), 'tree/x'));
    for (const target of ['tree/x', 'tree', 'tree/']) {
      expect(await cp([remote('/x'), join(here(), target)])).toMatchObject({ code: 1 });
    }
    expect(await readFile(join(here(), 'mine'), 'utf8')).toBe('mine');
  });

  it('is read from standard input and written to standard output, in a separate process', async () => {
    const bytes = Buffer.from('\0\xff\n', 'latin1');
    await piped(MAYFLY, ['cp', '-', remote('/piped')], bytes);
    expect(await readFile(join(guest(), 'piped'))).toEqual(bytes);
    expect(await piped(MAYFLY, ['cp', remote('/piped'), '-'])).toEqual(bytes);
  });
});

describe('a directory', () => {
  async function make(folder: string): Promise<void> {
    await mkdir(join(folder, 'sub/deeper'), { recursive: true });
    for (const name of NAMES) await writeFile(join(folder, 'sub', name), name, { mode: 0o640 });
    await writeFile(Buffer.concat([Buffer.from(`${folder}/sub/deeper/`), Buffer.from([0xff])]), 'raw');
    await symlink('sub/plain', join(folder, 'link'));
    await chmod(join(folder, 'sub/deeper'), 0o711);
  }

  it('is copied in and out with all its contents', async () => {
    const source = join(here(), 'dir');
    await make(source);
    expect(await cp(['-r', source, remote()])).toMatchObject({ code: 0 });
    expect(await tree(join(guest(), 'dir'))).toEqual(await tree(source));
    expect(await cp(['-r', source, remote('/other')])).toMatchObject({ code: 0 });
    expect(await tree(join(guest(), 'other'))).toEqual(await tree(source));
    expect(await cp(['--recursive', remote('/dir'), join(here(), 'back')])).toMatchObject({ code: 0 });
    expect(await tree(join(here(), 'back'))).toEqual(await tree(source));
    expect(await readdir(here())).toEqual(['back', 'dir']);
  });

  it('whose name is not UTF-8 is copied too, in a separate process', async () => {
    const raw = (path: string) => Buffer.concat([Buffer.from(`${path}/d`), Buffer.from([0xff])]);
    await mkdir(raw(here()));
    await writeFile(Buffer.concat([raw(here()), Buffer.from('/file')]), 'content');
    const input = Buffer.concat([raw(here()), NUL, Buffer.from(remote()), NUL]);
    await piped('xargs', ['-0', MAYFLY, 'cp', '-r'], input);
    expect(await readFile(Buffer.concat([raw(guest()), Buffer.from('/file')]), 'utf8')).toBe('content');
  });

  it('is merged into an existing one', async () => {
    await make(join(guest(), 'dir'));
    await mkdir(join(here(), 'dir/sub'), { recursive: true });
    await writeFile(join(here(), 'dir/mine'), 'mine');
    await writeFile(join(here(), 'dir/sub/plain'), 'old');
    expect(await cp(['-r', remote('/dir'), here()])).toMatchObject({ code: 0 });
    expect(await readFile(join(here(), 'dir/mine'), 'utf8')).toBe('mine');
    expect(await readFile(join(here(), 'dir/sub/plain'), 'utf8')).toBe('plain');
    expect(await readdir(here())).toEqual(['dir']);
  });

  it('with a device or set-user-id bits of the guest creates neither here', async () => {
    await mkdir(join(guest(), 'dir'));
    await writeFile(join(guest(), 'dir/suid'), 'x');
    await chmod(join(guest(), 'dir/suid'), 0o4755);
    expect(await cp(['-r', remote('/dir'), here()])).toMatchObject({ code: 0 });
    expect((await stat(join(here(), 'dir/suid'))).mode & 0o7000).toBe(0);
    execFileSync('mknod', [join(guest(), 'dir/null'), 'c', '1', '3']);
    const { code, err } = await cp(['-r', remote('/dir'), join(here(), 'again')]);
    expect([code, err]).toEqual([1, expect.stringContaining('a device, a FIFO or a socket')]);
    expect(await readdir(here())).toEqual(['dir']);
  });

  it('is not copied without -r, nor over a file', async () => {
    await make(join(here(), 'dir'));
    await make(join(guest(), 'dir'));
    await writeFile(join(here(), 'file'), '');
    await writeFile(join(guest(), 'file'), '');
    expect((await cp([join(here(), 'dir'), remote()])).code).toBe(2);
    expect((await cp([remote('/dir'), here()])).code).toBe(2);
    expect((await cp(['-r', join(here(), 'dir'), remote('/file')])).code).toBe(1);
    expect((await cp(['-r', remote('/dir'), join(here(), 'file')])).code).toBe(1);
    expect((await cp(['-r', join(here(), 'dir'), remote('/none/dir')])).code).toBe(3);
    expect(await readdir(guest())).toEqual(['dir', 'file']);
  });
});

describe('a copy that fails', () => {
  it.each([
    [['a', 'b'], 2],
    [['sbx-0000000000000000:/a', 'sbx-0000000000000000:/b'], 2],
    [['-', '-'], 2],
    [['-', 'b'], 2],
    [['a', 'sbx-0000000000000000:relative'], 2],
    [['a'], 2],
    [['--owner', 'a', 'sbx-0000000000000000:/b'], 2],
    [['/no/such/file', 'sbx-0000000000000000:/b'], 3],
    [['/etc/hostname', 'sbx-0000000000000000:/b'], 3],
    [['sbx-0000000000000000:/a', '-', '--json'], 2],
  ])('%j ends with %i', async (args, code) => {
    expect((await cp(args)).code).toBe(code);
  });

  it('reports the reason, and leaves nothing', async () => {
    expect((await cp([remote('/none'), here()])).code).toBe(3);
    await writeFile(join(guest(), 'file'), 'x');
    expect((await cp([remote('/file'), join(here(), 'none/file')])).code).toBe(1);
    expect((await cp([remote('/file'), `${here()}/none/`])).code).toBe(2);
    expect((await cp([join(guest(), 'file'), remote('/none/file')])).code).toBe(3);
    expect(await readdir(here())).toEqual([]);
    expect(await readdir(guest())).toEqual(['file']);
  });

  it('because of tar shows the error of tar', async () => {
    await mkdir(join(here(), 'dir'));
    await writeFile(join(here(), 'dir/file'), 'x');
    const old = process.env['PATH'];
    process.env['PATH'] = here();
    await writeFile(join(here(), 'tar'), '#!/bin/sh\necho partial; echo "tar: it hurts" >&2; exit 2\n', {
      mode: 0o755,
    });
    try {
      const { code, err } = await cp(['-r', join(here(), 'dir'), remote()]);
      expect([code, err]).toEqual([1, expect.stringContaining('it hurts')]);
    } finally {
      process.env['PATH'] = old;
    }
  });
});
