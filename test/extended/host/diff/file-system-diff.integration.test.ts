import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FileChangeLine } from '../../../../host/diff/file-change-lines.ts';
import { FileSystemDiff } from '../../../../host/diff/file-system-diff.ts';
import { FileSystemProblem } from '../../../../host/diff/file-system-problem.ts';
import { imageChain } from '../../../../host/disk/image.ts';
import { diffBinary } from '../../../../worker/config/artifacts.mjs';
import { programsProcessorMs } from '../../../support/processor-time.ts';
import { useFolder } from '../../../support/use-folder.ts';

const MEBIBYTE = 1024 * 1024;
const FILES = 10_000;
/** Time limit of the issue for that many files, ms, on this machine. */
const GRANTED_MS = 2_000;

const folder = useFolder();
let diff: FileSystemDiff;
/** Raw image, and a copy of it with some changed files. */
let before: string;
let after: string;

const raw = (path: string) => ({ layers: [{ path, format: 'raw' }] });

async function collect(lines: AsyncIterable<FileChangeLine>): Promise<FileChangeLine[]> {
  const all: FileChangeLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

function debugfs(image: string, commands: string[]): void {
  const { stderr } = spawnSync('/sbin/debugfs', ['-w', '-f', '-', image], { input: `${commands.join('\n')}\n` });
  const complaint = stderr.toString().replace(/^debugfs .*\n/, '');
  if (complaint !== '') throw new Error(complaint);
}

beforeAll(async () => {
  const program = diffBinary();
  if (program === null) throw new Error('mayfly-diff is not built: run `node scripts/setup.mjs --only diff`.');
  diff = new FileSystemDiff(program);
  const tree = join(folder, 'tree');
  for (let n = 0; n < FILES; n += 1) {
    const parent = join(tree, `d${n % 100}`);
    if (n < 100) await mkdir(parent, { recursive: true });
    await writeFile(join(parent, `file-${n}`), `${n} `.repeat(n % 500));
  }
  await writeFile(join(tree, '\u001b[31mred\n'), 'odd name');
  before = join(folder, 'before.raw');
  after = join(folder, 'after.raw');
  await writeFile(before, '');
  await truncate(before, 128 * MEBIBYTE);
  execFileSync('/sbin/mke2fs', ['-q', '-t', 'ext4', '-b', '4096', '-d', tree, before]);
  await copyFile(before, after);
  await writeFile(join(folder, 'new'), 'new content');
  debugfs(after, [`write ${join(folder, 'new')} /d0/new`, 'rm /d1/file-1', 'sif /d2/file-2 mode 0100600']);
});

describe('FileSystemDiff', () => {
  it(`finds what differs among ${FILES} files, within ${GRANTED_MS} ms of a processor`, async () => {
    await collect(diff.changes(raw(before), raw(after))); // so that the images are in memory, as after a snapshot
    const started = programsProcessorMs();
    const lines = await collect(diff.changes(raw(before), raw(after)));
    const took = programsProcessorMs() - started;
    expect(lines.at(0)).toMatchObject({ line: 'start', before: { journal: 'clean' }, after: { journal: 'clean' } });
    const digest = createHash('sha256').update('new content').digest('hex');
    expect(lines.slice(1)).toMatchObject([
      { change: 'added', path: '/d0/new', type: 'file', size: 11, digest },
      { change: 'removed', path: '/d1/file-1' },
      { change: 'changed', path: '/d2/file-2', what: ['mode'], mode: '0600', before: { mode: '0644' } },
      { line: 'end', added: 1, changed: 1, removed: 1, renamed: 0 },
    ]);
    expect(took).toBeLessThan(GRANTED_MS);
  });

  it('reads overlays by their chain, as another user, and changes nothing', async () => {
    const base = join(folder, 'base.qcow2');
    const overlay = join(folder, 'overlay.qcow2');
    execFileSync('qemu-img', ['convert', '-O', 'qcow2', '-c', before, base]);
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', base, overlay]);
    await chmod(overlay, 0o400);
    await chmod(base, 0o400);
    const layers = await imageChain(overlay, 'qcow2');
    expect((await collect(diff.changes({ layers }, raw(before)))).at(-1)).toMatchObject({ line: 'end', changed: 0 });
    expect((await collect(diff.changes({ layers }, raw(after)))).at(-1)).toMatchObject({ added: 1, removed: 1 });
    execFileSync('qemu-img', ['check', '-q', overlay]);
  });

  it('returns the content of a file, up to the requested bytes', async () => {
    const content = (path: string, bytes: number) => diff.content(raw(before), Buffer.from(path), bytes);
    expect(await content('/\u001b[31mred\n', 100)).toEqual({ content: Buffer.from('odd name'), size: 8 });
    expect(await content('/d9/file-9', 4)).toEqual({ content: Buffer.from('9 9 '), size: 18 });
    expect(await content('/d0/file-0', 4)).toEqual({ content: Buffer.alloc(0), size: 0 });
    // The program has often ended before the first read.
    const many = await Promise.all(Array.from({ length: 20 }, () => content('/d9/file-9', 4)));
    expect(new Set(many.map((one) => String(one.content)))).toEqual(new Set(['9 9 ']));
    await expect(content('/d9/none', 4)).rejects.toMatchObject({ code: 'not-found' });
    await expect(content('/d9', 4)).rejects.toMatchObject({ code: 'not-a-file' });
  });

  it('makes a tar archive of additions and changes', async () => {
    const parts: Uint8Array[] = [];
    for await (const part of diff.tar(raw(before), raw(after))) parts.push(part);
    const { stdout } = spawnSync('tar', ['-t'], { input: Buffer.concat(parts) });
    expect(stdout.toString()).toBe('./d0/new\n./d1/.wh.file-1\n./d2/file-2\n');
  });

  it('compares only the requested paths', async () => {
    const within = ['/d2', '/d0/new'].map((path) => Buffer.from(path));
    const lines = await collect(diff.changes(raw(before), raw(after), { within }));
    expect(lines.slice(1)).toMatchObject([
      { change: 'added', path: '/d0/new' },
      { change: 'changed', path: '/d2/file-2' },
      { line: 'end', added: 1, changed: 1, removed: 0, renamed: 0 },
    ]);
    const relative = collect(diff.changes(raw(before), raw(after), { within: [Buffer.from('d2')] }));
    await expect(relative).rejects.toMatchObject({ code: 'bad-request' });
  });

  it('names an unreadable image, with the reason', async () => {
    const noise = join(folder, 'noise.raw');
    await writeFile(noise, Buffer.alloc(MEBIBYTE, 'noise'));
    const failed = collect(diff.changes(raw(before), raw(noise)));
    await expect(failed).rejects.toBeInstanceOf(FileSystemProblem);
    await expect(failed).rejects.toMatchObject({ code: 'no-file-system', image: 'after' });
    await expect(collect(diff.changes({ layers: [] }, raw(noise)))).rejects.toMatchObject({ code: 'bad-request' });
    await expect(collect(diff.changes(raw(join(folder, 'absent')), raw(before)))).rejects.toThrow('ENOENT');
  });

  it('ends the program when its reader stops, or on an abort', async () => {
    for await (const line of diff.changes(raw(before), raw(after))) {
      expect(line.line).toBe('start');
      break;
    }
    const aborted = collect(diff.changes(raw(before), raw(after), { signal: AbortSignal.abort() }));
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    const absent = new FileSystemDiff(join(folder, 'absent'));
    await expect(collect(absent.changes(raw(before), raw(after)))).rejects.toThrow('ENOENT');
    const running = spawnSync('pgrep', ['-P', String(process.pid), '-x', 'mayfly-diff']);
    expect(running.stdout.toString()).toBe('');
  });
});
