import { describe, expect, it } from 'vitest';
import { MayflyError } from '../../../model/errors.ts';
import { fails, linesOf, useCompared } from '../../api/compared.ts';
import { problemOf } from '../../api/support.ts';
import { fileChange } from '../../support/compared-snapshots.ts';

const { snapshots, client, a, b, diff } = useCompared();

async function drained(lines: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of lines);
}

describe('changes as lines', () => {
  it('begin with the states and the commands, and end with the counts', async () => {
    snapshots().say(fileChange('/a'), fileChange('/b'));
    const response = await diff('?format=ndjson');
    expect(response.headers.get('Content-Type')).toBe('application/x-ndjson');
    expect(await linesOf(response)).toMatchObject([
      { line: 'start', before: { snapshotId: a() }, after: { snapshotId: b() }, commands: { items: [] } },
      { line: 'change', path: '/a' },
      { line: 'change', path: '/b' },
      { line: 'end', added: 2 },
    ]);
  });

  it('end with the reason when the host fails in the middle, known or not', async () => {
    const failing = (error: Error) => {
      snapshots().records = async function* () {
        for (let i = 0; i < 1_000; i++) yield { line: 'change', ...fileChange(`/${i}`) };
        throw error;
      };
    };
    failing(new MayflyError('diff_failed', 'a loop'));
    const told = await linesOf(await diff('?format=ndjson'));
    expect(told).toHaveLength(1_002);
    expect(told.at(-1)).toMatchObject({ line: 'error', problem: { code: 'diff_failed', detail: 'a loop' } });
    failing(new Error('secret words'));
    const broken = await linesOf(await diff('?format=ndjson'));
    expect(broken.at(-1)).toMatchObject({ line: 'error', problem: { code: 'host_unavailable' } });
    expect(JSON.stringify(broken)).not.toContain('secret');
    const followed = async () => {
      for await (const { line } of client().snapshots.diff.follow(a(), b())) if (line === 'end') return line;
      return 'nothing';
    };
    await expect(followed()).rejects.toMatchObject({ name: 'MayflyApiError', code: 'host_unavailable' });
  });

  it('stop when the caller disconnects', async () => {
    let found = 0;
    snapshots().records = async function* () {
      for (; ; found++) yield { line: 'change', ...fileChange(`/${'x'.repeat(1_000)}${found}`) };
    };
    const leaving = new AbortController();
    const follow = client().snapshots.diff.follow(a(), b(), { signal: leaving.signal });
    expect(await follow.next()).toMatchObject({ value: { line: 'start' } });
    leaving.abort();
    await snapshots().ended;
    const atTheEnd = found;
    await expect(drained(follow)).rejects.toThrow();
    expect(found).toBe(atTheEnd);
  });
});

describe('one file', () => {
  it.each([
    ['a\nb\n', 'a\nc\n', 'text', '--- a/etc/x\n+++ b/etc/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n'],
    [null, 'a\n', 'text', '--- /dev/null\n+++ b/etc/x\n@@ -0,0 +1,1 @@\n+a\n'],
    ['a\n', null, 'text', '--- a/etc/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n'],
    ['a\n', 'a\n', 'same', null],
    ['a\n', 'a\0\n', 'binary', null],
    ['a\n', '\u00ff', 'binary', null],
    ['a\n', 'x'.repeat(1_048_577), 'too-large', null],
  ])('%j and %.9j', async (before, after, kind, text) => {
    if (before !== null) snapshots().files.set(a(), Buffer.from(before, 'latin1'));
    if (after !== null) snapshots().files.set(b(), Buffer.from(after, 'latin1'));
    expect(await client().snapshots.diff.file(a(), b(), '/etc/x')).toEqual({
      path: '/etc/x',
      before: before === null ? null : { size: before.length },
      after: after === null ? null : { size: after.length },
      kind,
      diff: text,
    });
  });

  it('with an unprintable name is quoted, and a missing one is not found', async () => {
    snapshots().files.set(b(), Buffer.from('a\n'));
    const { diff: text } = await client().snapshots.diff.file(a(), b(), Buffer.from('/a"\n+++ \xff', 'latin1'));
    expect(text).toMatch(/^--- \/dev\/null\n\+\+\+ "b\/a\\"\\n\+\+\+ \\377"\n@@/);
    snapshots().files.clear();
    expect(await problemOf(diff('?file=/etc/x'))).toMatchObject({ code: 'file_not_found', status: 404 });
  });
});

it('an archive is passed through, and cut off when it is incomplete', async () => {
  snapshots().archive = async function* () {
    yield Buffer.alloc(100_000, 1);
  };
  const response = await diff('?format=tar&path=/home');
  expect(response.headers.get('Content-Type')).toBe('application/x-tar');
  expect((await response.arrayBuffer()).byteLength).toBe(100_000);
  expect(snapshots().asked.at(-1)?.within).toEqual(['/home']);
  snapshots().archive = async function* () {
    yield Buffer.alloc(100_000, 1);
    throw new MayflyError('diff_failed', 'a loop');
  };
  const broken = client().snapshots.diff.tar(a(), b());
  await expect(drained(broken)).rejects.toMatchObject({ name: 'MayflyConnectionError' });
  snapshots().archive = () => fails(new MayflyError('diff_failed', 'a loop'));
  expect(await problemOf(diff('?format=tar'))).toMatchObject({ code: 'diff_failed' });
});
