import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../api/problem.ts';
import type { SandboxView } from '../../api/sandbox-view.ts';
import type { SnapshotView } from '../../api/snapshot-view.ts';
import type { Diff, DiffLine } from '../../client/diff.ts';
import type { CommandRecord } from '../../model/command.ts';
import { MayflyError } from '../../model/errors.ts';
import type { SavedSnapshot } from '../../model/snapshot.ts';
import { type DiffDoor, fileChange, openDiffDoor, type ToldSnapshots } from '../support/compared-snapshots.ts';
import { type Door, jsonOf } from './support.ts';

let opened: DiffDoor;
let door: Door;
let snapshots: ToldSnapshots;
let a: string;
let b: string;
let sandboxId: string;

beforeAll(async () => {
  opened = await openDiffDoor();
  ({ door, snapshots } = opened);
});
afterAll(async () => {
  await opened?.close();
});
beforeEach(async () => {
  door.sagas.outcome = 'running';
  door.sagas.refusal = null;
  sandboxId = await newSandbox();
  a = await taken(sandboxId, '2026-11-21T10:00:00.000Z');
  b = await taken(sandboxId, '2026-11-21T11:00:00.000Z');
  door.sagas.operations = [];
  snapshots.asked = [];
  snapshots.files.clear();
  snapshots.say();
});

async function newSandbox(spec: object = { source: 'golden' }): Promise<string> {
  const { id } = await jsonOf<SandboxView>(door.call('POST', '/v1/sandboxes', spec));
  await door.store.sandboxes.update(id, { hostId: 'kvm-1' });
  return id;
}

async function taken(of: string, savedAt: string): Promise<string> {
  const { id } = await jsonOf<SnapshotView>(door.call('POST', `/v1/sandboxes/${of}/snapshots`, {}));
  const saved: SavedSnapshot = { kind: 'disk', disks: [], sizeBytes: 0, memoryBytes: null, quiesced: true, savedAt };
  await door.store.snapshots.update(id, { saved });
  return id;
}

const diff = (query = '', [from, to] = [a, b]) => door.call('GET', `/v1/snapshots/${from}/diff/${to}${query}`);
const problemOf = async (response: Promise<Response>) => (await (await response).json()) as Problem;
async function linesOf(response: Response): Promise<(DiffLine | { line: 'error'; problem: Problem })[]> {
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** What has nothing but a failure. */
function fails(error: Error): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

async function drained(lines: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of lines);
}

function command(id: string, times: Partial<CommandRecord>): CommandRecord {
  const none = { bytes: 0, kept: 0 };
  return {
    id,
    sandboxId,
    hostId: 'kvm-1',
    spec: {
      command: 'true',
      argv: null,
      envNames: [],
      cwd: null,
      user: null,
      timeoutSeconds: 1,
      maxOutputBytes: 1,
      stdinOpen: false,
    },
    createdBy: { apiKeyId: 'x', agentId: null },
    state: 'ended',
    requestedAt: '2026-11-21T09:00:00.000Z',
    startedAt: null,
    endedAt: null,
    outcome: 'exited',
    exitCode: 0,
    signal: null,
    reason: null,
    failure: null,
    stdout: none,
    stderr: none,
    ...times,
  };
}

describe('a list of changes', () => {
  it('has what the host says, the counts of all, and only as many as asked for', async () => {
    const odd = fileChange({ base64: '/w==' }, { target: '\u001b[31m\n' });
    snapshots.say(fileChange('/etc/new'), odd, fileChange('/x', { change: 'removed' }));
    const whole = await jsonOf<Diff>(diff());
    expect(whole).toMatchObject({
      before: { snapshotId: a, sandboxId, savedAt: '2026-11-21T10:00:00.000Z' },
      after: { snapshotId: b },
      counts: { added: 2, changed: 0, removed: 1, renamed: 0 },
      changes: [fileChange('/etc/new'), odd, { path: '/x' }],
      isCut: false,
    });
    expect(await jsonOf<Diff>(diff('?limit=1'))).toMatchObject({ changes: [{}], isCut: true, counts: { added: 2 } });
    expect(await opened.client.snapshots.diff.list(a, b)).toEqual(whole);
    const events = (await door.store.audit.entries(sandboxId, { limit: 50 })).map(({ body }) => JSON.parse(body));
    expect(events.at(-1)).toMatchObject({ kind: 'snapshot.compared', detail: { before: a, after: b, format: 'json' } });
  });

  it('asks the host for the bytes of the paths', async () => {
    await diff('?path=/etc&path=%2Fa%FF%0a&path=/b+c');
    expect(snapshots.asked[0]?.within).toEqual(['/etc', { base64: 'L2H/Cg==' }, '/b c']);
    await opened.client.snapshots.diff.list(a, b, { paths: ['/ä &', Buffer.from([0x2f, 0xfe])] });
    expect(snapshots.asked[1]?.within).toEqual(['/ä &', { base64: 'L/4=' }]);
  });

  it('has the commands that ran between the two, whichever is given first', async () => {
    const { commands } = door.store;
    await commands.create(
      command('cmd-0000000000000001', { startedAt: '2026-11-21T09:00:00.000Z', endedAt: '2026-11-21T10:00:00.000Z' }),
    );
    await commands.create(
      command('cmd-0000000000000002', { startedAt: '2026-11-21T09:59:00.000Z', endedAt: '2026-11-21T10:00:00.001Z' }),
    );
    await commands.create(
      command('cmd-0000000000000003', { startedAt: '2026-11-21T10:59:00.000Z', state: 'running', outcome: null }),
    );
    await commands.create(
      command('cmd-0000000000000004', { startedAt: '2026-11-21T11:00:00.000Z', endedAt: '2026-11-21T11:00:01.000Z' }),
    );
    await commands.create(command('cmd-0000000000000005', { outcome: 'not-started' }));
    const between = {
      unknown: null,
      isCut: false,
      items: [{ id: 'cmd-0000000000000002', command: 'true' }, { id: 'cmd-0000000000000003' }],
    };
    expect((await jsonOf<Diff>(diff())).commands).toMatchObject(between);
    expect((await jsonOf<Diff>(diff('', [b, a]))).commands).toMatchObject(between);
  });

  it('says that the commands of two sandboxes are not told apart, but for a fork of the one', async () => {
    const other = await taken(await newSandbox(), '2026-11-21T12:00:00.000Z');
    expect((await jsonOf<Diff>(diff('', [a, other]))).commands).toMatchObject({
      items: [],
      unknown: expect.stringContaining(a),
    });
    const fork = await newSandbox({ snapshotId: a });
    const forked = await taken(fork, '2026-11-21T12:00:00.000Z');
    expect((await jsonOf<Diff>(diff('', [a, forked]))).commands.unknown).toBeNull();
  });

  it('is a problem when the host fails, before or after its first line', async () => {
    const broken = new MayflyError('diff_failed', `The file system of ${a}: a loop.`);
    snapshots.records = () => fails(broken);
    for (const query of ['', '?format=ndjson']) {
      const response = await diff(query);
      expect([response.status, response.headers.get('Content-Type')]).toEqual([422, 'application/problem+json']);
      expect(await response.json()).toMatchObject({ code: 'diff_failed', detail: broken.message });
    }
    snapshots.records = async function* () {
      yield { line: 'change', ...fileChange('/etc/new') };
      throw broken;
    };
    expect(await problemOf(diff())).toMatchObject({ code: 'diff_failed', detail: broken.message });
  });
});

describe('changes as lines', () => {
  it('begin with the states and the commands, and end with the counts', async () => {
    snapshots.say(fileChange('/a'), fileChange('/b'));
    const response = await diff('?format=ndjson');
    expect(response.headers.get('Content-Type')).toBe('application/x-ndjson');
    expect(await linesOf(response)).toMatchObject([
      { line: 'start', before: { snapshotId: a }, after: { snapshotId: b }, commands: { items: [] } },
      { line: 'change', path: '/a' },
      { line: 'change', path: '/b' },
      { line: 'end', added: 2 },
    ]);
  });

  it('end with the reason when the host fails in the middle, whether it can say why or not', async () => {
    const failing = (error: Error) => {
      snapshots.records = async function* () {
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
      for await (const { line } of opened.client.snapshots.diff.follow(a, b)) if (line === 'end') return line;
      return 'nothing';
    };
    await expect(followed()).rejects.toMatchObject({ name: 'MayflyApiError', code: 'host_unavailable' });
  });

  it('of a caller that has gone are not looked for any more', async () => {
    let found = 0;
    snapshots.records = async function* () {
      for (; ; found++) yield { line: 'change', ...fileChange(`/${'x'.repeat(1_000)}${found}`) };
    };
    const leaving = new AbortController();
    const follow = opened.client.snapshots.diff.follow(a, b, { signal: leaving.signal });
    expect(await follow.next()).toMatchObject({ value: { line: 'start' } });
    leaving.abort();
    await snapshots.ended;
    const atTheEnd = found;
    await expect(drained(follow)).rejects.toThrow();
    expect(found).toBe(atTheEnd);
  });
});

describe('one file', () => {
  it.each([
    ['a\nb\n', 'a\nc\n', 'text', '--- a/etc/x\n+++ b/etc/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n'],
    [null, 'a\n', 'text', '--- /dev/null\n+++ b/etc/x\n@@ -0,0 +1 @@\n+a\n'],
    ['a\n', null, 'text', '--- a/etc/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n'],
    ['a\n', 'a\n', 'same', null],
    ['a\n', 'a\0\n', 'binary', null],
    ['a\n', '\u00ff', 'binary', null],
    ['a\n', 'x'.repeat(1_048_577), 'too-large', null],
  ])('%j and %.9j', async (before, after, kind, text) => {
    if (before !== null) snapshots.files.set(a, Buffer.from(before, 'latin1'));
    if (after !== null) snapshots.files.set(b, Buffer.from(after, 'latin1'));
    expect(await opened.client.snapshots.diff.file(a, b, '/etc/x')).toEqual({
      path: '/etc/x',
      before: before === null ? null : { size: before.length },
      after: after === null ? null : { size: after.length },
      kind,
      diff: text,
    });
  });

  it('with a name that no line can carry is quoted, and one that is nowhere is not found', async () => {
    snapshots.files.set(b, Buffer.from('a\n'));
    const { diff: text } = await opened.client.snapshots.diff.file(a, b, Buffer.from('/a"\n+++ \xff', 'latin1'));
    expect(text).toMatch(/^--- \/dev\/null\n\+\+\+ "b\/a\\"\\n\+\+\+ \\377"\n@@/);
    snapshots.files.clear();
    expect(await problemOf(diff('?file=/etc/x'))).toMatchObject({ code: 'file_not_found', status: 404 });
  });
});

describe('an archive', () => {
  it('is passed on, and broken off when it is not whole', async () => {
    snapshots.archive = async function* () {
      yield Buffer.alloc(100_000, 1);
    };
    const response = await diff('?format=tar&path=/home');
    expect(response.headers.get('Content-Type')).toBe('application/x-tar');
    expect((await response.arrayBuffer()).byteLength).toBe(100_000);
    expect(snapshots.asked.at(-1)?.within).toEqual(['/home']);
    snapshots.archive = async function* () {
      yield Buffer.alloc(100_000, 1);
      throw new MayflyError('diff_failed', 'a loop');
    };
    const broken = opened.client.snapshots.diff.tar(a, b);
    await expect(drained(broken)).rejects.toMatchObject({ name: 'MayflyConnectionError' });
    snapshots.archive = () => fails(new MayflyError('diff_failed', 'a loop'));
    expect(await problemOf(diff('?format=tar'))).toMatchObject({ code: 'diff_failed' });
  });
});

describe('a request', () => {
  it.each([
    ['path', '?path=etc'],
    ['path', '?path=/etc/../root'],
    ['path', '?path=/a%00'],
    ['path', '?path=/a%2'],
    ['path', `?path=/${'x'.repeat(4_096)}`],
    ['path', `?${Array.from({ length: 33 }, () => 'path=/a').join('&')}`],
    ['path', '?path=/a&file=/a'],
    ['file', '?file='],
    ['format', '?format=xml'],
    ['format', '?file=/a&format=tar'],
    ['limit', '?limit=0'],
    ['limit', '?limit=1&format=ndjson'],
    ['since', '?since=1'],
  ])('names %s in %.30s', async (field, query) => {
    const problem = await problemOf(diff(query));
    expect([problem.code, problem.errors?.map((error) => error.field)]).toEqual(['invalid_request', [field]]);
    expect(snapshots.asked).toEqual([]);
  });

  it('for what cannot be compared is refused before the host is asked', async () => {
    const none = 'snp-0000000000000000';
    expect((await problemOf(diff('', ['sbx-0000000000000000', b]))).code).toBe('invalid_id');
    expect((await problemOf(diff('', [a, 'now']))).code).toBe('invalid_id');
    expect((await problemOf(diff('', ['current', b]))).code).toBe('invalid_id');
    expect((await problemOf(diff('', [a, none]))).code).toBe('snapshot_not_found');
    expect((await problemOf(diff('', [none, 'current']))).code).toBe('snapshot_not_found');
    await door.store.snapshots.update(b, { hostId: 'kvm-2' });
    expect(await problemOf(diff())).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('kvm-2'),
    });
    await door.store.snapshots.update(b, { state: 'deleting' });
    expect((await problemOf(diff())).code).toBe('snapshot_not_ready');
    expect(snapshots.asked).toEqual([]);
    expect((await door.call('HEAD', `/v1/snapshots/${a}/diff/${b}`)).status).toBe(405);
  });
});

describe('the present state', () => {
  const current = (query = '', key?: string) =>
    door.call('GET', `/v1/snapshots/${a}/diff/current${query}`, undefined, {}, key);

  it('is a snapshot that is let go of, and that no list has', async () => {
    const inOrder: number[] = [];
    snapshots.records = async function* () {
      inOrder.push(door.sagas.passing.length);
      yield { line: 'end', added: 0, changed: 0, removed: 0, renamed: 0 };
    };
    const told = await jsonOf<Diff>(current());
    expect(told).toMatchObject({ before: { snapshotId: a }, after: { snapshotId: null, sandboxId } });
    const [operation] = door.sagas.operations;
    const notAfter = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(operation).toMatchObject({ kind: 'snapshot', reason: 'diff', snapshotKind: 'disk', notAfter });
    expect(snapshots.asked).toMatchObject([{ before: a, after: operation?.operationId }]);
    expect([inOrder, door.sagas.passing]).toEqual([[1], []]);
    const list = await jsonOf<{ items: SnapshotView[] }>(door.call('GET', `/v1/sandboxes/${sandboxId}/snapshots`));
    expect(list.items.map(({ id }) => id).sort()).toEqual([a, b].sort());
    await linesOf(await current('?format=ndjson'));
    await (await current('?format=tar')).arrayBuffer();
    expect(door.sagas.passing).toEqual([]);
  });

  it('is let go of when the host fails, when the caller goes, and when it cannot be taken', async () => {
    snapshots.records = () => fails(new MayflyError('diff_failed', 'a loop'));
    expect((await problemOf(current())).code).toBe('diff_failed');
    expect((await problemOf(current('?format=ndjson'))).code).toBe('diff_failed');
    expect(door.sagas.passing).toEqual([]);
    const leaving = new AbortController();
    snapshots.records = async function* () {
      for (;;) yield { line: 'change', ...fileChange(`/${'x'.repeat(1_000)}`) };
    };
    const follow = opened.client.snapshots.diff.follow(a, 'current', { signal: leaving.signal });
    await follow.next();
    expect(door.sagas.passing).toHaveLength(1);
    leaving.abort();
    await expect.poll(() => door.sagas.passing).toEqual([]);
    door.sagas.outcome = 'failed';
    expect(await problemOf(current())).toMatchObject({ code: 'host_unavailable', detail: 'saveSnapshot: no' });
    door.sagas.refusal = new MayflyError('sandbox_busy', 'no');
    expect((await problemOf(current())).code).toBe('sandbox_busy');
    expect(door.sagas.passing).toEqual([]);
  });

  it('is left to time when nobody knows whether it will be taken', async () => {
    door.sagas.refusal = new MayflyError('temporal_unavailable', 'no');
    expect((await problemOf(current())).code).toBe('temporal_unavailable');
    expect(door.sagas.passing).toHaveLength(1);
    door.sagas.passing = [];
  });

  it('is for who may write, of a sandbox that lives', async () => {
    expect((await problemOf(current('', await door.key('sandboxes:read')))).code).toBe('forbidden');
    await door.store.sandboxes.update(sandboxId, { state: 'destroyed' });
    expect((await problemOf(current())).code).toBe('sandbox_ended');
    expect(door.sagas.operations).toEqual([]);
  });
});
