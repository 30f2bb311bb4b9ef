import { describe, expect, it } from 'vitest';
import type { SandboxView } from '../../api/resources/sandbox-schemas.ts';
import type { SnapshotView } from '../../api/snapshots/snapshots.ts';
import { MayflyError } from '../../model/errors.ts';
import { useSandbox } from './sandbox-door.ts';
import { jsonOf, problemOf } from './support.ts';

const { door, sandboxId, take, taken, inState } = useSandbox();

describe('taking a snapshot', () => {
  it('answers 201 with the snapshot, named by its id by default', async () => {
    const response = await take();
    const snapshot = (await response.json()) as SnapshotView;
    expect([response.status, response.headers.get('Location')]).toEqual([201, `/v1/snapshots/${snapshot.id}`]);
    expect(snapshot).toMatchObject({
      sandboxId: sandboxId(),
      name: snapshot.id,
      kind: 'disk',
      state: 'ready',
      reason: 'requested',
    });
    expect(await jsonOf(door().call('GET', `/v1/snapshots/${snapshot.id}`))).toEqual(snapshot);
    await take({ name: 'v1.0_a-b' });
    expect(door().sagas.operations[1]).toMatchObject({ kind: 'snapshot', name: 'v1.0_a-b', snapshotKind: 'disk' });
  });

  it('answers 202 when the wait ends first', async () => {
    const response = await take({}, { Prefer: 'wait=0' });
    expect([response.status, response.headers.get('Preference-Applied')]).toEqual([202, 'wait=0']);
    expect(await response.json()).toMatchObject({ state: 'creating', saved: null });
  });

  it('answers its failure with the ids concerned, not retryable', async () => {
    door().sagas.outcome = 'failed';
    const response = await take();
    const [operation] = door().sagas.operations;
    const expected = {
      code: 'host_unavailable',
      sandboxId: sandboxId(),
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
    expect(door().sagas.operations).toEqual([]);
  });

  it('refuses a name in use and a concurrent operation; the key is free afterwards', async () => {
    expect((await take({ name: 'twice' })).status).toBe(201);
    const headers = { 'Idempotency-Key': `twice-${sandboxId()}` };
    expect(await problemOf(await take({ name: 'twice' }, headers))).toMatchObject({ code: 'snapshot_name_taken' });
    door().sagas.refusal = new MayflyError('sandbox_busy', 'restore opn-… is under way.');
    const busy = await take({}, headers);
    expect([busy.status, busy.headers.has('Retry-After')]).toEqual([409, true]);
    door().sagas.refusal = null;
    expect((await take({}, headers)).status).toBe(201);
  });

  it('creates one snapshot for one key, also after the sandbox has ended', async () => {
    const headers = { 'Idempotency-Key': `once-${sandboxId()}` };
    const first = await take({}, headers);
    const again = await take({}, headers);
    expect([again.headers.get('Idempotent-Replayed'), await again.text()]).toEqual(['true', await first.text()]);
    expect(door().sagas.operations.length).toBe(1);
    expect(await problemOf(await take({ name: 'other' }, headers))).toMatchObject({ code: 'idempotency_key_reused' });
    const { id } = await jsonOf<{ id: string }>(take({}, headers));
    await door().store.snapshots.update(id, { state: 'deleted' });
    const gone = await take({}, headers);
    expect([gone.status, await jsonOf<object>(gone)]).toMatchObject([200, { id, state: 'deleted' }]);
  });

  it('returns the same snapshot for its key when the first answer was lost', async () => {
    const headers = { 'Idempotency-Key': `lost-${sandboxId()}` };
    door().sagas.refusal = new MayflyError('temporal_unavailable', 'away');
    expect((await take({}, headers)).status).toBe(503);
    door().sagas.refusal = null;
    const ids = await Promise.all([take({}, headers), take({}, headers)]);
    const views = await Promise.all(ids.map(async (response) => (await response.json()) as SnapshotView));
    expect(new Set(views.map(({ id }) => id)).size).toBe(1);
  });

  it('needs an existing sandbox and the write scope', async () => {
    const nowhere = await door().call('POST', '/v1/sandboxes/sbx-0000000000000000/snapshots', {});
    expect(await problemOf(nowhere)).toMatchObject({ code: 'sandbox_not_found' });
    const reader = await door().key('sandboxes:read');
    for (const [method, path] of [
      ['POST', `/v1/sandboxes/${sandboxId()}/snapshots`],
      ['POST', `/v1/sandboxes/${sandboxId()}/restore`],
      ['POST', `/v1/sandboxes/${sandboxId()}/pause`],
      ['POST', `/v1/sandboxes/${sandboxId()}/hibernate`],
      ['DELETE', '/v1/snapshots/snp-0000000000000000'],
    ] as const) {
      const body = method === 'POST' ? { snapshotId: 'snp-0000000000000000' } : undefined;
      expect((await door().call(method, path, body, {}, reader)).status).toBe(403);
    }
  });
});

describe('snapshots', () => {
  it('are listed, newest first, page by page', async () => {
    for (let n = 0; n < 3; n++) await take({ name: `n${n}` });
    const path = `/v1/sandboxes/${sandboxId()}/snapshots`;
    interface Page {
      items: SnapshotView[];
      nextCursor: string | null;
    }
    const first = await jsonOf<Page>(door().call('GET', `${path}?limit=2`));
    const second = await jsonOf<Page>(door().call('GET', `${path}?limit=2&cursor=${first.nextCursor}`));
    expect([...first.items, ...second.items].map(({ name }) => name).sort()).toEqual(['n0', 'n1', 'n2']);
    expect([first.items.length, second.nextCursor]).toEqual([2, null]);
    expect((await door().call('GET', `${path}?cursor=x`)).status).toBe(422);
  });

  it('of all sandboxes of the project are listed, newest first, page by page', async () => {
    const [first, of] = [await taken(), sandboxId()];
    const { id: other } = await jsonOf<SandboxView>(door().call('POST', '/v1/sandboxes', { source: 'golden' }));
    const second = await jsonOf<SnapshotView>(door().call('POST', `/v1/sandboxes/${other}/snapshots`, {}));
    const listed = (query: string, key?: string) =>
      jsonOf<{ items: SnapshotView[]; nextCursor: string | null }>(
        door().call('GET', `/v1/snapshots${query}`, undefined, {}, key),
      );
    const page = await listed('?limit=1');
    expect(page.items).toMatchObject([{ id: second.id, sandboxId: other }]);
    const next = await listed(`?limit=1&cursor=${page.nextCursor}`);
    expect(next.items).toMatchObject([{ id: first.id, sandboxId: of }]);
    expect((await problemOf(door().call('GET', '/v1/snapshots?sandboxId=x'))).code).toBe('invalid_request');
  });

  it('are deleted: 200 with the remaining references, and the same again', async () => {
    const { id } = await taken();
    for (let n = 0; n < 2; n++) {
      const response = await door().call('DELETE', `/v1/snapshots/${id}`);
      expect([response.status, await response.json()]).toMatchObject([
        200,
        { state: 'deleted', keptFor: expect.stringMatching(/sbx-/) },
      ]);
    }
  });

  it('answer 202 when their deletion is slow; unfinished ones are not deleted', async () => {
    const { id } = await taken();
    const slow = await door().call('DELETE', `/v1/snapshots/${id}`, undefined, { Prefer: 'wait=0' });
    expect([slow.status, slow.headers.get('Location')]).toEqual([202, `/v1/snapshots/${id}`]);
    const creating = await inState('creating');
    const refused = await door().call('DELETE', `/v1/snapshots/${creating.id}`);
    expect(await problemOf(refused)).toMatchObject({ code: 'sandbox_busy' });
    const failed = await inState('failed');
    expect((await door().call('DELETE', `/v1/snapshots/${failed.id}`)).status).toBe(200);
  });

  it('with an unknown or invalid id are refused', async () => {
    for (const method of ['GET', 'DELETE']) {
      expect((await door().call(method, '/v1/snapshots/snp-0000000000000000')).status).toBe(404);
      expect((await door().call(method, `/v1/snapshots/${sandboxId()}`)).status).toBe(400);
    }
  });
});
