import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeContext, indexFiles } from '../../../model/image/sent-context.ts';
import { buildTar, type TarEntry } from '../../../model/image/tar.ts';
import { tarEntries } from '../../../model/image/tar-scanner.ts';
import { ownProcessorMs } from '../../support/processor-time.ts';

// Guards: archives are untrusted: GNU tar's are read, ours are read by GNU tar, and hostile ones are refused.
// Milliseconds.

let folder: string;
const LONG = `${'long-'.repeat(30)}/${'ř'.repeat(100)}`;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-'));
  mkdirSync(join(folder, 'in', LONG.split('/')[0] ?? ''), { recursive: true });
  writeFileSync(join(folder, 'in', LONG), 'deep', { mode: 0o600 });
  writeFileSync(join(folder, 'in', 'x y\nz'), 'odd', { mode: 0o755 });
  symlinkSync(LONG, join(folder, 'in', 'link'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const bytes = (text: string) => new TextEncoder().encode(text);
const file = (path: string, text = 'x'): TarEntry => ({
  path,
  type: 'file',
  mode: 0o644,
  bytes: bytes(text),
  link: null,
});
const link = (path: string, to: string): TarEntry => ({
  path,
  type: 'symlink',
  mode: 0o777,
  bytes: bytes(''),
  link: to,
});

/** Changes the type in an archive's first header; the wrong checksum is ignored. */
function withType(letter: string): Uint8Array {
  const archive = buildTar([file('a')]);
  archive[1024 + 156] = letter.charCodeAt(0);
  return archive;
}

it.each(['gnu', 'pax', 'ustar'])('reads what tar writes as %s', (format) => {
  const names = format === 'ustar' ? ['x y\nz'] : ['.'];
  const archive = execFileSync('tar', ['-c', `--format=${format}`, '-C', join(folder, 'in'), ...names]);
  const found = indexFiles(archive);
  expect(found.get('x y\nz')).toMatchObject({ type: 'file', mode: 0o755, bytes: Buffer.from('odd') });
  if (format === 'ustar') return;
  expect(found.get(LONG)).toMatchObject({ mode: 0o600, bytes: Buffer.from('deep') });
  expect(found.get('link')).toMatchObject({ type: 'symlink', link: LONG });
});

it('writes archives that tar reads', () => {
  const all = [file('a', 'A'), file(LONG, 'deep'), link('l', 'a'), file('x y\nz', 'odd')];
  mkdirSync(join(folder, 'out'));
  execFileSync('tar', ['-x', '-C', join(folder, 'out')], { input: buildTar(all) });
  const back = tarEntries(
    execFileSync('tar', ['-c', '--format=pax', '-C', join(folder, 'out'), ...all.map(({ path }) => path)]),
  );
  expect(back.map((entry) => ({ ...entry, bytes: Buffer.from(entry.bytes).toString() }))).toEqual(
    all.map((entry) => ({ ...entry, bytes: Buffer.from(entry.bytes).toString() })),
  );
  for (let length = 80; length < 120; length++)
    expect(tarEntries(buildTar([file('n'.repeat(length))]))[0]?.path).toHaveLength(length);
});

describe('an archive is refused with', () => {
  it.each([
    ['a device (case 3)', withType('3'), 'a device'],
    ['a pipe', withType('6'), 'a pipe'],
    ['a hard link', withType('1'), 'a hard link'],
    ['another kind', withType('S'), 'an unknown kind'],
    ['above the root', buildTar([file('a/../../b')]), 'outside'],
    ['absolute', buildTar([file('/etc/passwd')]), 'outside'],
    ['below a link', buildTar([link('a', '/etc'), file('a/passwd')]), 'which is no folder'],
    ['a folder, and then none', buildTar([file('a/b'), file('a')]), 'and then none'],
    ['a path that Linux has not', buildTar([file('ü/'.repeat(1_400))]), 'too long'],
    ['cut off', buildTar([file('a', 'x'.repeat(5_000))]).subarray(0, 3_000), 'cut off'],
    ['no archive', bytes('x'.repeat(2_000)), 'makes no sense'],
    ['nothing', bytes(''), 'cut off'],
    ['a name that is no UTF-8', buildTar([file('aaaa')]).map((byte) => (byte === 97 ? 255 : byte)), 'not UTF-8'],
  ])('%s', (_what, archive, why) => {
    expect(() => describeContext(archive)).toThrow(why);
  });

  it('implied folders, which count too, and are each visited once', () => {
    const began = ownProcessorMs();
    const deep = Array.from({ length: 600 }, (_, n) => file(`${n}/${'a/'.repeat(2_000)}x`, ''));
    expect(() => describeContext(buildTar(deep))).toThrow('more than 10000 entries');
    const names = buildTar(Array.from({ length: 60 }, (_, n) => file(`${n}${'\0'.repeat(60_000)}a`, '')));
    expect(() => describeContext(names)).toThrow('too long');
    expect(ownProcessorMs() - began).toBeLessThan(2_000);
  });

  it('too many entries, fast', () => {
    const began = ownProcessorMs();
    expect(() =>
      describeContext(buildTar(Array.from({ length: 5_001 }, (_, n) => file(`f${n}`, ''))).slice(0, 4_194_305)),
    ).toThrow();
    expect(ownProcessorMs() - began).toBeLessThan(3_000);
  });
});

it('a context has its .dockerignore, and a digest per file', () => {
  const { entries, dockerignore } = describeContext(
    buildTar([file('.dockerignore', '*.log\n'), file('./a'), link('l', 'a')]),
  );
  expect(dockerignore).toBe('*.log\n');
  expect(entries.map(({ path, digest }) => [path, digest?.length ?? null])).toEqual([
    ['.dockerignore', 64],
    ['a', 64],
    ['l', null],
  ]);
});
