import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Problem } from '../../api/problem.ts';
import type { SandboxView } from '../../api/sandbox-view.ts';
import type { SnapshotView } from '../../api/snapshot-view.ts';
import { MayflyError } from '../../model/errors.ts';
import type { SnapshotState } from '../../model/snapshot.ts';
import { type Door, host, jsonOf, openDoor } from './support.ts';

interface Forks {
  items: ({ sandbox: SandboxView } | { problem: Problem })[];
}
type Headers = Record<string, string>;

let door: Door;
let sandboxId: string;

beforeAll(async () => {
  door = await openDoor();
});
afterAll(async () => {
  await door?.close();
});
beforeEach(async () => {
  const { sagas, store } = door;
  sagas.outcome = 'running';
  sagas.failing = null;
  sagas.refusal = null;
  await store.hosts.describe(host('kvm-1'));
  ({ id: sandboxId } = await jsonOf<SandboxView>(door.call('POST', '/v1/sandboxes', { source: 'golden' })));
  sagas.operations = [];
  sagas.started = [];
});

const take = (body: object = {}, headers: Headers = {}) =>
  door.call('POST', `/v1/sandboxes/${sandboxId}/snapshots`, body, headers);
const restore = (body: object, headers: Headers = {}) =>
  door.call('POST', `/v1/sandboxes/${sandboxId}/restore`, body, headers);
const fork = (body: object, headers: Headers = {}) => door.call('POST', '/v1/sandboxes', body, headers);
const taken = async (): Promise<SnapshotView> => (await (await take()).json()) as SnapshotView;
const problemOf = async (response: Response) => (await response.json()) as Problem;

async function inState(state: SnapshotState): Promise<SnapshotView> {
  const snapshot = await taken();
  await door.store.snapshots.update(snapshot.id, { state });
  return snapshot;
}

describe('taking a snapshot', () => {
  it('answers 201 with it, named by its id unless it was given a name', async () => {
    const response = await take();
    const snapshot = (await response.json()) as SnapshotView;
    expect([response.status, response.headers.get('Location')]).toEqual([201, `/v1/snapshots/${snapshot.id}`]);
    expect(snapshot).toMatchObject({ sandboxId, name: snapshot.id, kind: 'disk', state: 'ready', reason: 'requested' });
    expect(await jsonOf(door.call('GET', `/v1/snapshots/${snapshot.id}`))).toEqual(snapshot);
    await take({ name: 'v1.0_a-b' });
    expect(door.sagas.operations[1]).toMatchObject({ kind: 'snapshot', name: 'v1.0_a-b', snapshotKind: 'disk' });
  });

  it('answers 202 when the wait is over first', async () => {
    const response = await take({}, { Prefer: 'wait=0' });
    expect([response.status, response.headers.get('Preference-Applied')]).toEqual([202, 'wait=0']);
    expect(await response.json()).toMatchObject({ state: 'creating', saved: null });
  });

  it('answers its failure with what failed, which a client does not repeat', async () => {
    door.sagas.outcome = 'failed';
    const response = await take();
    const [operation] = door.sagas.operations;
    const expected = {
      code: 'host_unavailable',
      sandboxId,
      snapshotId: operation?.operationId,
      detail: expect.stringMatching(/saveSnapshot/),
    };
    expect(await problemOf(response)).toMatchObject({ status: 503, ...expected });
  });

  it.each<[string, object, string]>([
    ['invalid_request', { kind: 'memory' }, 'kind'],
    ['invalid_request', { name: '' }, 'name'],
    ['invalid_request', { name: '../x' }, 'name'],
    ['invalid_request', { name: '-x' }, 'name'],
    ['invalid_request', { name: 'a/b' }, 'name'],
    ['invalid_request', { name: 'x'.repeat(64) }, 'name'],
    ['invalid_request', { name: 'a\n' }, 'name'],
    ['invalid_request', { name: { $ne: null } }, 'name'],
    ['invalid_request', { memory: true }, 'memory'],
  ])('refuses with %s: %j', async (code, body, field) => {
    const problem = await problemOf(await take(body));
    expect([problem.code, problem.errors?.[0]?.field ?? '']).toEqual([code, field]);
    expect(door.sagas.operations).toEqual([]);
  });

  it('refuses a name that is taken, and another operation meanwhile; the key is free then', async () => {
    expect((await take({ name: 'twice' })).status).toBe(201);
    const headers = { 'Idempotency-Key': `twice-${sandboxId}` };
    expect(await problemOf(await take({ name: 'twice' }, headers))).toMatchObject({ code: 'snapshot_name_taken' });
    door.sagas.refusal = new MayflyError('sandbox_busy', 'restore opn-… is under way.');
    const busy = await take({}, headers);
    expect([busy.status, busy.headers.has('Retry-After')]).toEqual([409, true]);
    door.sagas.refusal = null;
    expect((await take({}, headers)).status).toBe(201);
  });

  it('is one snapshot for one key, also when the sandbox has ended since', async () => {
    const headers = { 'Idempotency-Key': `once-${sandboxId}` };
    const first = await take({}, headers);
    const again = await take({}, headers);
    expect([again.headers.get('Idempotent-Replayed'), await again.text()]).toEqual(['true', await first.text()]);
    expect(door.sagas.operations.length).toBe(1);
    expect(await problemOf(await take({ name: 'other' }, headers))).toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('whose answer was lost is found again under its key', async () => {
    const headers = { 'Idempotency-Key': `lost-${sandboxId}` };
    door.sagas.refusal = new MayflyError('temporal_unavailable', 'away');
    expect((await take({}, headers)).status).toBe(503);
    door.sagas.refusal = null;
    const ids = await Promise.all([take({}, headers), take({}, headers)]);
    const views = await Promise.all(ids.map(async (response) => (await response.json()) as SnapshotView));
    expect(new Set(views.map(({ id }) => id)).size).toBe(1);
  });

  it('needs a sandbox, and the right to change it', async () => {
    const nowhere = await door.call('POST', '/v1/sandboxes/sbx-0000000000000000/snapshots', {});
    expect(await problemOf(nowhere)).toMatchObject({ code: 'sandbox_not_found' });
    const reader = await door.key('sandboxes:read');
    for (const [method, path] of [
      ['POST', `/v1/sandboxes/${sandboxId}/snapshots`],
      ['POST', `/v1/sandboxes/${sandboxId}/restore`],
      ['POST', `/v1/sandboxes/${sandboxId}/pause`],
      ['POST', `/v1/sandboxes/${sandboxId}/hibernate`],
      ['DELETE', '/v1/snapshots/snp-0000000000000000'],
    ] as const) {
      const body = method === 'POST' ? { snapshotId: 'snp-0000000000000000' } : undefined;
      expect((await door.call(method, path, body, {}, reader)).status).toBe(403);
    }
  });
});

describe('snapshots', () => {
  it('are listed, newest first, page by page', async () => {
    for (let n = 0; n < 3; n++) await take({ name: `n${n}` });
    const path = `/v1/sandboxes/${sandboxId}/snapshots`;
    interface Page {
      items: SnapshotView[];
      nextCursor: string | null;
    }
    const first = await jsonOf<Page>(door.call('GET', `${path}?limit=2`));
    const second = await jsonOf<Page>(door.call('GET', `${path}?limit=2&cursor=${first.nextCursor}`));
    expect([...first.items, ...second.items].map(({ name }) => name).sort()).toEqual(['n0', 'n1', 'n2']);
    expect([first.items.length, second.nextCursor]).toEqual([2, null]);
    expect((await door.call('GET', `${path}?cursor=x`)).status).toBe(422);
  });

  it('are deleted: 200 with what still needs them, and the same again', async () => {
    const { id } = await taken();
    for (let n = 0; n < 2; n++) {
      const response = await door.call('DELETE', `/v1/snapshots/${id}`);
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { state: 'deleted', keptFor: expect.stringMatching(/sbx-/) },
      ]);
    }
  });

  it('that take long to delete answer 202; those being taken are not deleted', async () => {
    const { id } = await taken();
    const slow = await door.call('DELETE', `/v1/snapshots/${id}`, undefined, { Prefer: 'wait=0' });
    expect([slow.status, slow.headers.get('Location')]).toEqual([202, `/v1/snapshots/${id}`]);
    const creating = await inState('creating');
    const refused = await door.call('DELETE', `/v1/snapshots/${creating.id}`);
    expect(await problemOf(refused)).toMatchObject({ code: 'sandbox_busy' });
    const failed = await inState('failed');
    expect((await door.call('DELETE', `/v1/snapshots/${failed.id}`)).status).toBe(200);
  });

  it('that are none are refused', async () => {
    for (const method of ['GET', 'DELETE']) {
      expect((await door.call(method, '/v1/snapshots/snp-0000000000000000')).status).toBe(404);
      expect((await door.call(method, `/v1/snapshots/${sandboxId}`)).status).toBe(400);
    }
  });
});

describe('restoring', () => {
  it('answers 200 with the sandbox and what was kept; the same key is the same restore', async () => {
    const { id: snapshotId } = await taken();
    const headers = { 'Idempotency-Key': `restore-${sandboxId}` };
    const response = await restore({ snapshotId }, headers);
    const answer = await response.json();
    expect([response.status, answer]).toMatchObject([
      200,
      {
        snapshotId,
        keptAs: expect.stringMatching(/^snp-/),
        operationId: expect.stringMatching(/^opn-/),
        sandbox: { id: sandboxId, state: 'running' },
      },
    ]);
    expect(await (await restore({ snapshotId }, headers)).json()).toEqual(answer);
    expect(door.sagas.operations.filter(({ kind }) => kind === 'restore')).toMatchObject([
      { snapshotId, keepAs: (answer as { keptAs: string }).keptAs },
    ]);
  });

  it('keeps nothing when told so', async () => {
    const { id: snapshotId } = await taken();
    const response = await restore({ snapshotId, keepCurrent: false }, { Prefer: 'wait=0' });
    expect([response.status, await response.json()]).toMatchObject([202, { keptAs: null }]);
  });

  it('tells its failure', async () => {
    const { id: snapshotId } = await taken();
    door.sagas.outcome = 'failed';
    expect(await problemOf(await restore({ snapshotId }))).toMatchObject({ code: 'host_unavailable', sandboxId });
  });

  it('is for snapshots of that sandbox only', async () => {
    const { id: snapshotId } = await taken();
    const { id } = await jsonOf<SandboxView>(door.call('POST', '/v1/sandboxes', { source: 'golden' }));
    const foreign = await problemOf(await door.call('POST', `/v1/sandboxes/${id}/restore`, { snapshotId }));
    expect([foreign.code, foreign.errors?.[0]?.field]).toEqual(['invalid_request', 'snapshotId']);
    const missing = await restore({ snapshotId: 'snp-0000000000000000' });
    expect(await problemOf(missing)).toMatchObject({ code: 'snapshot_not_found' });
    for (const body of [{}, { snapshotId: sandboxId }, { snapshotId, keepCurrent: 'no' }, { snapshotId, x: 1 }]) {
      expect((await problemOf(await restore(body))).code).toBe('invalid_request');
    }
  });
});

describe('pausing', () => {
  const act = (what: string, headers: Headers = {}) =>
    door.app.request(`/v1/sandboxes/${sandboxId}/${what}`, { method: 'POST', headers });

  it('needs no body, and leaves a sandbox that says what to do', async () => {
    const headers = { 'X-API-Key': await door.key('admin') };
    const paused = await act('pause', headers);
    expect([paused.status, await paused.json()]).toMatchObject([200, { state: 'paused' }]);
    const refused = await door.call('POST', `/v1/sandboxes/${sandboxId}/commands`, { command: 'true' });
    expect(await problemOf(refused)).toMatchObject({
      code: 'sandbox_not_running',
      detail: expect.stringMatching(/\/resume/),
    });
    const resumed = await act('resume', { ...headers, Prefer: 'wait=0' });
    expect([resumed.status, resumed.headers.get('Location')]).toEqual([202, `/v1/sandboxes/${sandboxId}`]);
  });

  it('is ended by a use of a sandbox that wants that; why it cannot be is the answer', async () => {
    const headers = { 'X-API-Key': await door.key('admin') };
    await door.store.sandboxes.update(sandboxId, { hostId: 'kvm-1' });
    await door.call('PATCH', `/v1/sandboxes/${sandboxId}`, { autoResume: true });
    expect((await act('hibernate', headers)).status).toBe(200);
    const use = () =>
      door.call('POST', `/v1/sandboxes/${sandboxId}/commands`, { command: 'true' }, { Prefer: 'wait=1' });
    door.sagas.outcome = 'failed';
    expect(await problemOf(await use())).toMatchObject({ code: 'host_unavailable' });
    expect(door.sagas.commands).toEqual([]);
    door.sagas.outcome = 'never';
    expect((await use()).status).toBe(202);
    expect(door.sagas.commands).toHaveLength(1);
    const file = await door.call('GET', `/v1/sandboxes/${sandboxId}/files/etc`, undefined, { Prefer: 'wait=0' });
    expect(await problemOf(file)).toMatchObject({ code: 'sandbox_not_running', retryable: true });
    door.sagas.outcome = 'running';
    expect((await use()).status).toBe(202);
    expect(door.sagas.operations.map(({ kind }) => kind).filter((kind) => kind !== 'resume')).toEqual(['hibernate']);
  });

  it('is one operation for one key', async () => {
    const headers = { 'X-API-Key': await door.key('admin'), 'Idempotency-Key': `pause-${sandboxId}` };
    await act('pause', headers);
    expect((await act('pause', headers)).headers.get('Idempotent-Replayed')).toBe('true');
    expect(door.sagas.operations.length).toBe(1);
  });
});

describe('forking', () => {
  it('makes one sandbox of a snapshot', async () => {
    const { id: snapshotId } = await taken();
    const response = await fork({ snapshotId, cpus: 2 });
    const spec = { source: 'golden', snapshotId, cpus: 2 };
    expect([response.status, await response.json()]).toMatchObject([201, { spec, parentSnapshotId: null }]);
  });

  it('makes as many as are asked for; the same key is the same sandboxes', async () => {
    const { id: snapshotId } = await taken();
    const headers = { 'Idempotency-Key': `forks-${snapshotId}` };
    const first = await fork({ snapshotId, count: 12 }, headers);
    const { items } = (await first.clone().json()) as Forks;
    const ids = items.map((item) => ('sandbox' in item ? item.sandbox.id : null));
    expect([first.status, new Set(ids).size, ids.includes(null)]).toEqual([201, 12, false]);
    expect(await (await fork({ snapshotId, count: 12 }, headers)).text()).toBe(await first.text());
    expect(door.sagas.started.length).toBe(12);
  });

  it('answers 202 while some are being made, and 207 when some will not run', async () => {
    const { id: snapshotId } = await taken();
    expect((await fork({ snapshotId, count: 2 }, { Prefer: 'wait=0' })).status).toBe(202);
    door.sagas.outcome = 'failed';
    const failed = await fork({ snapshotId, count: 2 });
    expect(failed.status).toBe(207);
    expect(await failed.json()).toMatchObject({
      items: [1, 2].map(() => ({ problem: { code: 'ip_timeout', sandboxId: expect.stringMatching(/^sbx-/) } })),
    });
  });

  it('goes on with those that Temporal did not take, under the same key', async () => {
    const { id: snapshotId } = await taken();
    const headers = { 'Idempotency-Key': `away-${snapshotId}` };
    door.sagas.failsAfter = 2;
    const first = await fork({ snapshotId, count: 3 }, headers);
    expect([first.status, await first.json()]).toMatchObject([
      207,
      { items: [{ sandbox: {} }, { sandbox: {} }, { problem: { code: 'temporal_unavailable' } }] },
    ]);
    door.sagas.failsAfter = null;
    const second = await fork({ snapshotId, count: 3 }, headers);
    expect([second.status, door.sagas.started.length]).toEqual([201, 3]);
  });

  it('is refused as a whole when nothing could be begun', async () => {
    const { id: snapshotId } = await taken();
    door.sagas.failing = new MayflyError('temporal_unavailable', 'away');
    expect((await fork({ snapshotId, count: 2 })).status).toBe(503);
  });

  it.each<SnapshotState>(['creating', 'failed', 'deleting', 'deleted'])(
    'is refused of one that is %s',
    async (state) => {
      const { id: snapshotId } = await inState(state);
      const problem = await problemOf(await fork({ snapshotId }));
      expect([problem.code, problem.detail]).toEqual(['snapshot_not_ready', `The snapshot ${snapshotId} is ${state}.`]);
    },
  );

  it('is refused when only a host that is away has it', async () => {
    const { id: snapshotId } = await taken();
    await door.store.hosts.describe(host('kvm-1', { lastSeenAt: '2026-01-01T00:00:00.000Z' }));
    await door.store.hosts.describe(host('kvm-2'));
    expect(await problemOf(await fork({ snapshotId, count: 3 }))).toMatchObject({
      code: 'no_host',
      detail: expect.stringMatching(/kvm-1/),
    });
  });

  it.each<[string, object]>([
    ['source', {}],
    ['snapshotId', { source: 'golden', snapshotId: 'snp-0000000000000000' }],
    ['snapshotId', { snapshotId: 'sbx-0000000000000000' }],
    ['snapshotId', { snapshotId: null }],
    ['count', { source: 'golden', count: 2 }],
    ['count', { snapshotId: 'snp-0000000000000000', count: 0 }],
    ['count', { snapshotId: 'snp-0000000000000000', count: 101 }],
    ['count', { snapshotId: 'snp-0000000000000000', count: '3' }],
  ])('names %s in %j', async (field, body) => {
    const problem = await problemOf(await fork(body));
    expect([problem.code, problem.errors?.map((error) => error.field)]).toEqual(['invalid_request', [field]]);
    expect(door.sagas.started).toEqual([]);
  });

  it('of saved memory are as large as it is: another size is refused, and named', async () => {
    const { id: snapshotId } = (await (await take({ kind: 'full' })).json()) as SnapshotView;
    expect(door.sagas.operations.at(-1)).toMatchObject({ kind: 'snapshot', snapshotKind: 'full' });
    for (const size of [{ cpus: 2 }, { memoryMib: 256 }, { cpus: 1, memoryMib: 512, count: 2 }]) {
      const problem = await problemOf(await door.call('POST', '/v1/sandboxes', { snapshotId, ...size }));
      const fields = Object.keys(size).filter((field) => field !== 'count');
      expect([problem.code, problem.errors?.map(({ field }) => field)]).toEqual(['invalid_request', fields]);
    }
    expect((await door.call('POST', '/v1/sandboxes', { snapshotId })).status).toBe(201);
    const { id: disk } = await taken();
    expect((await door.call('POST', '/v1/sandboxes', { snapshotId: disk, cpus: 2 })).status).toBe(201);
  });

  it('of a snapshot that is none is refused', async () => {
    const problem = await problemOf(await fork({ snapshotId: 'snp-0000000000000000' }));
    expect(problem.code).toBe('snapshot_not_found');
  });
});
