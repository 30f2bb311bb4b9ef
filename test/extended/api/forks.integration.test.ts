import { describe, expect, it } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import type { SnapshotView } from '../../../api/snapshots/snapshots.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { SnapshotState } from '../../../model/snapshots/snapshot.ts';
import type { Problem } from '../../../services/problems/problem.ts';
import { type Headers, useSandbox } from '../../api/sandbox-door.ts';
import { host, jsonOf, problemOf } from '../../api/support.ts';

interface Forks {
  items: ({ sandbox: SandboxView } | { problem: Problem })[];
}

const { door, take, taken, inState } = useSandbox();
const fork = (body: object, headers: Headers = {}) => door().call('POST', '/v1/sandboxes', body, headers);

describe('forking', () => {
  it('makes one sandbox of a snapshot', async () => {
    const { id: snapshotId } = await taken();
    const response = await fork({ snapshotId, cpus: 2 });
    const spec = { source: 'golden', snapshotId, cpus: 2 };
    expect([response.status, await response.json()]).toMatchObject([201, { spec, parentSnapshotId: snapshotId }]);
  });

  it('inherits the egress of its snapshot, unless the request sets it, and reports it', async () => {
    const egressOf = async (answer: Promise<Response>) =>
      (await jsonOf<{ spec: { network: { egress: string } } }>(await answer)).spec.network.egress;
    const open = { egress: 'internet' as const };
    const { id } = await jsonOf<SandboxView>(await fork({ source: 'golden', network: open }));
    const { id: snapshotId } = await jsonOf<SnapshotView>(door().call('POST', `/v1/sandboxes/${id}/snapshots`, {}));
    expect(await egressOf(fork({ snapshotId }))).toBe('internet');
    expect(await egressOf(fork({ snapshotId, network: { egress: 'none' } }))).toBe('none');
    const { items } = (await (await fork({ snapshotId, count: 2 })).json()) as Forks;
    const all = items.map((item) => ('sandbox' in item ? item.sandbox.spec.network : null));
    expect(all).toEqual([{ egress: 'internet' }, { egress: 'internet' }]);
    const { id: closed } = await taken();
    const kept = await inState('ready');
    await door().store.snapshots.update(kept.id, { network: open });
    expect(await egressOf(fork({ snapshotId: kept.id }))).toBe('internet');
    expect(await egressOf(fork({ snapshotId: closed }))).toBe('none');
    expect(await egressOf(fork({ snapshotId: closed, network: { egress: 'internet' } }))).toBe('internet');
  });

  it('is refused for sizes that its host could never hold', async () => {
    const { id: snapshotId } = await taken();
    const refused = await fork({ snapshotId, memoryMib: 200_000 });
    expect(await problemOf(refused)).toMatchObject({ status: 422, code: 'exceeds_hosts', retryable: false });
  });

  it('makes the requested number; the same key returns the same sandboxes', async () => {
    const { id: snapshotId } = await taken();
    const headers = { 'Idempotency-Key': `forks-${snapshotId}` };
    const first = await fork({ snapshotId, count: 12 }, headers);
    const { items } = (await first.clone().json()) as Forks;
    const ids = items.map((item) => ('sandbox' in item ? item.sandbox.id : null));
    expect([first.status, new Set(ids).size, ids.includes(null)]).toEqual([201, 12, false]);
    expect(await (await fork({ snapshotId, count: 12 }, headers)).text()).toBe(await first.text());
    expect(door().sagas.started.length).toBe(12);
  });

  it('answers 202 during the creates, and 207 when some fail', async () => {
    const { id: snapshotId } = await taken();
    expect((await fork({ snapshotId, count: 2 }, { Prefer: 'wait=0' })).status).toBe(202);
    door().sagas.outcome = 'failed';
    const failed = await fork({ snapshotId, count: 2 });
    expect(failed.status).toBe(207);
    expect(await failed.json()).toMatchObject({
      items: [1, 2].map(() => ({ problem: { code: 'ip_timeout', sandboxId: expect.stringMatching(/^sbx-/) } })),
    });
  });

  it('continues with those that Temporal did not accept, under the same key', async () => {
    const { id: snapshotId } = await taken();
    const headers = { 'Idempotency-Key': `away-${snapshotId}` };
    door().sagas.failsAfter = 2;
    const first = await fork({ snapshotId, count: 3 }, headers);
    expect([first.status, await first.json()]).toMatchObject([
      207,
      { items: [{ sandbox: {} }, { sandbox: {} }, { problem: { code: 'temporal_unavailable' } }] },
    ]);
    door().sagas.failsAfter = null;
    const second = await fork({ snapshotId, count: 3 }, headers);
    expect([second.status, door().sagas.started.length]).toEqual([201, 3]);
  });

  it('is refused as a whole when nothing could be started', async () => {
    const { id: snapshotId } = await taken();
    door().sagas.failing = new MayflyError('temporal_unavailable', 'away');
    expect((await fork({ snapshotId, count: 2 })).status).toBe(503);
  });

  it.each<SnapshotState>(['creating', 'failed', 'deleting', 'deleted'])(
    'is refused for a snapshot that is %s',
    async (state) => {
      const { id: snapshotId } = await inState(state);
      const problem = await problemOf(await fork({ snapshotId }));
      expect([problem.code, problem.detail]).toEqual(['snapshot_not_ready', `The snapshot ${snapshotId} is ${state}.`]);
    },
  );

  it('is refused when only an unavailable host has the snapshot', async () => {
    const { id: snapshotId } = await taken();
    await door().store.hosts.describe(host('kvm-1', { lastSeenAt: '2026-01-01T00:00:00.000Z' }));
    await door().store.hosts.describe(host('kvm-2'));
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
    expect(door().sagas.started).toEqual([]);
  });

  it('of saved memory keeps its size: another size is refused by field', async () => {
    const { id: snapshotId } = (await (await take({ kind: 'full' })).json()) as SnapshotView;
    expect(door().sagas.operations.at(-1)).toMatchObject({ kind: 'snapshot', snapshotKind: 'full' });
    for (const size of [{ cpus: 2 }, { memoryMib: 256 }, { cpus: 1, memoryMib: 512, count: 2 }]) {
      const problem = await problemOf(await door().call('POST', '/v1/sandboxes', { snapshotId, ...size }));
      const fields = Object.keys(size).filter((field) => field !== 'count');
      expect([problem.code, problem.errors?.map(({ field }) => field)]).toEqual(['invalid_request', fields]);
    }
    expect((await door().call('POST', '/v1/sandboxes', { snapshotId })).status).toBe(201);
    const { id: disk } = await taken();
    expect((await door().call('POST', '/v1/sandboxes', { snapshotId: disk, cpus: 2 })).status).toBe(201);
  });

  it('of an unknown snapshot is refused', async () => {
    const problem = await problemOf(await fork({ snapshotId: 'snp-0000000000000000' }));
    expect(problem.code).toBe('snapshot_not_found');
  });
});
