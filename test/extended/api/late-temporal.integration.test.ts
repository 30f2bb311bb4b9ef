import { describe, expect, it } from 'vitest';
import type { SandboxView } from '../../../api/resources/sandbox-schemas.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { Problem } from '../../../services/problems/problem.ts';
import { type Headers, useSandbox } from '../../api/sandbox-door.ts';
import { jsonOf } from '../../api/support.ts';

/** Error of a call that timed out: Temporal may have accepted it. */
const LATE = new MayflyError('temporal_unavailable', 'Temporal did not take the request.', { mayHaveBegun: true });
const AWAY = new MayflyError('temporal_unavailable', 'Temporal did not take the request.', { mayHaveBegun: false });

const { door, taken, sandboxId } = useSandbox();
const post = (path: string, body: object, headers: Headers = {}) => door().call('POST', path, body, headers);
const begun = (id: string) => expect.poll(() => door().sagas.started).toContain(id);

describe('when Temporal is late', () => {
  it.each(['wait=0', 'wait=1'])('a create answers with its id, and starts as soon as it can (%s)', async (prefer) => {
    door().sagas.failing = LATE;
    door().sagas.outcome = 'never';
    const response = await post('/v1/sandboxes', { source: 'golden' }, { Prefer: prefer });
    const { id, state } = await jsonOf<SandboxView>(response.clone());
    expect([response.status, response.headers.get('Location'), state]).toEqual([
      202,
      `/v1/sandboxes/${id}`,
      'requested',
    ]);
    expect((await door().call('GET', `/v1/sandboxes/${id}`)).status).toBe(200);
    door().sagas.failing = null;
    await begun(id);
    expect(door().sagas.started.filter((one) => one === id)).toEqual([id]);
  });

  it('a create with a name does so too', async () => {
    door().sagas.failing = LATE;
    door().sagas.outcome = 'never';
    const { id } = await jsonOf<SandboxView>(
      post('/v1/sandboxes', { source: 'golden', name: 'late' }, { Prefer: 'wait=1' }),
    );
    door().sagas.failing = null;
    await begun(id);
  });

  it('the same Idempotency-Key is the same sandbox', async () => {
    door().sagas.failing = LATE;
    door().sagas.outcome = 'never';
    const ask = () => post('/v1/sandboxes', { source: 'golden' }, { 'Idempotency-Key': 'late-1', Prefer: 'wait=1' });
    const { id } = await jsonOf<SandboxView>(ask());
    door().sagas.failing = null;
    expect((await jsonOf<SandboxView>(ask())).id).toBe(id);
    await begun(id);
  });

  it('each of several forks has its id', async () => {
    const { id: snapshotId } = await taken();
    door().sagas.failing = LATE;
    door().sagas.outcome = 'never';
    const response = await post('/v1/sandboxes', { snapshotId, count: 2 }, { Prefer: 'wait=1' });
    const { items } = await jsonOf<{ items: { sandbox: SandboxView }[] }>(response);
    expect(response.status).toBe(202);
    door().sagas.failing = null;
    for (const { sandbox } of items) await begun(sandbox.id);
  });

  it('a snapshot that may have started is refused with its id', async () => {
    door().sagas.refusal = LATE;
    const response = await post(`/v1/sandboxes/${sandboxId()}/snapshots`, {});
    const problem = await jsonOf<Problem>(response);
    expect([response.status, problem.code]).toEqual([503, 'temporal_unavailable']);
    expect(response.headers.get('Location')).toBe(`/v1/snapshots/${problem.snapshotId}`);
    expect(response.headers.get('Retry-After')).not.toBeNull();
  });
});

it('when Temporal is unavailable and nothing started, a create is refused without an id', async () => {
  door().sagas.failing = AWAY;
  const response = await post('/v1/sandboxes', { source: 'golden' });
  const problem = await jsonOf<Problem>(response);
  expect([response.status, problem.sandboxId, response.headers.get('Location')]).toEqual([503, undefined, null]);
  expect(response.headers.get('Retry-After')).not.toBeNull();
});
