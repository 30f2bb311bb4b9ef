import { describe, expect, it } from 'vitest';
import type { Diff } from '../../clients/typescript/http/openapi.ts';
import { MayflyError } from '../../model/errors.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { command, commandId } from '../store/support.ts';
import { fileChange } from '../support/compared-snapshots.ts';
import { fails, useCompared } from './compared.ts';
import { jsonOf, problemOf } from './support.ts';

const { door, snapshots, client, a, b, sandboxId, newSandbox, taken, diff } = useCompared();

describe('a list of changes', () => {
  it("has the host's entries, the counts of all, and only as many items as requested", async () => {
    const odd = fileChange({ base64: '/w==' }, { target: '\u001b[31m\n' });
    snapshots().say(fileChange('/etc/new'), odd, fileChange('/x', { change: 'removed' }));
    const whole = await jsonOf<Diff>(diff());
    expect(whole).toMatchObject({
      before: { snapshotId: a(), sandboxId: sandboxId(), savedAt: '2026-11-21T10:00:00.000Z' },
      after: { snapshotId: b() },
      counts: { added: 2, changed: 0, removed: 1, renamed: 0 },
      changes: [fileChange('/etc/new'), odd, { path: '/x' }],
      isCut: false,
    });
    expect(await jsonOf<Diff>(diff('?limit=1'))).toMatchObject({ changes: [{}], isCut: true, counts: { added: 2 } });
    expect(await client().snapshots.diff.list(a(), b())).toEqual(whole);
    const events = (await door().store.audit.entries(sandboxId(), { limit: 50 })).map(({ body }) => JSON.parse(body));
    expect(events.at(-1)).toMatchObject({
      kind: 'snapshot.compared',
      detail: { before: a(), after: b(), format: 'json' },
    });
  });

  it('passes the bytes of the paths to the host', async () => {
    await diff('?path=/etc&path=%2Fa%FF%0a&path=/b+c');
    expect(snapshots().asked[0]?.within).toEqual(['/etc', { base64: 'L2H/Cg==' }, '/b c']);
    await client().snapshots.diff.list(a(), b(), { paths: ['/ä &', Buffer.from([0x2f, 0xfe])] });
    expect(snapshots().asked[1]?.within).toEqual(['/ä &', { base64: 'L/4=' }]);
  });

  it('has the commands that ran between the two, in either order of arguments', async () => {
    const ran = (n: number, times: Partial<CommandRecord>) =>
      door().store.commands.create(command(n, { sandboxId: sandboxId(), state: 'ended', outcome: 'exited', ...times }));
    await ran(1, { startedAt: '2026-11-21T09:00:00.000Z', endedAt: '2026-11-21T10:00:00.000Z' });
    await ran(2, { startedAt: '2026-11-21T09:59:00.000Z', endedAt: '2026-11-21T10:00:00.001Z' });
    await ran(3, { startedAt: '2026-11-21T10:59:00.000Z', state: 'running', outcome: null });
    await ran(4, { startedAt: '2026-11-21T11:00:00.000Z', endedAt: '2026-11-21T11:00:01.000Z' });
    await ran(5, { outcome: 'not-started' });
    const between = {
      unknown: null,
      isCut: false,
      items: [{ id: commandId(2), command: 'true' }, { id: commandId(3) }],
    };
    expect((await jsonOf<Diff>(diff())).commands).toMatchObject(between);
    expect((await jsonOf<Diff>(diff('', [b(), a()]))).commands).toMatchObject(between);
  });

  it('cannot attribute the commands of two sandboxes, except between a sandbox and its fork', async () => {
    const other = await taken(await newSandbox(), '2026-11-21T12:00:00.000Z');
    expect((await jsonOf<Diff>(diff('', [a(), other]))).commands).toMatchObject({
      items: [],
      unknown: expect.stringContaining(a()),
    });
    const fork = await newSandbox({ snapshotId: a() });
    const forked = await taken(fork, '2026-11-21T12:00:00.000Z');
    expect((await jsonOf<Diff>(diff('', [a(), forked]))).commands.unknown).toBeNull();
  });

  it('returns a problem when the host fails, before or after its first line', async () => {
    const broken = new MayflyError('diff_failed', `The file system of ${a()}: a loop.`);
    snapshots().records = () => fails(broken);
    for (const query of ['', '?format=ndjson']) {
      const response = await diff(query);
      expect([response.status, response.headers.get('Content-Type')]).toEqual([422, 'application/problem+json']);
      expect(await response.json()).toMatchObject({ code: 'diff_failed', detail: broken.message });
    }
    snapshots().records = async function* () {
      yield { line: 'change', ...fileChange('/etc/new') };
      throw broken;
    };
    expect(await problemOf(diff())).toMatchObject({ code: 'diff_failed', detail: broken.message });
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
    expect(snapshots().asked).toEqual([]);
  });

  it('for incomparable snapshots is refused before the host is called', async () => {
    const none = 'snp-0000000000000000';
    expect((await problemOf(diff('', ['sbx-0000000000000000', b()]))).code).toBe('invalid_id');
    expect((await problemOf(diff('', [a(), 'now']))).code).toBe('invalid_id');
    expect((await problemOf(diff('', ['current', b()]))).code).toBe('invalid_id');
    expect((await problemOf(diff('', [a(), none]))).code).toBe('snapshot_not_found');
    expect((await problemOf(diff('', [none, 'current']))).code).toBe('snapshot_not_found');
    await door().store.snapshots.update(b(), { hostId: 'kvm-2' });
    expect(await problemOf(diff())).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringContaining('kvm-2'),
    });
    await door().store.snapshots.update(b(), { state: 'deleting' });
    expect((await problemOf(diff())).code).toBe('snapshot_not_ready');
    expect(snapshots().asked).toEqual([]);
    expect((await door().call('HEAD', `/v1/snapshots/${a()}/diff/${b()}`)).status).toBe(405);
  });
});
