import { describe, expect, it } from 'vitest';
import type { SandboxView } from '../../api/resources/sandbox-schemas.ts';
import { type Headers, useSandbox } from './sandbox-door.ts';
import { jsonOf, problemOf } from './support.ts';

const { door, sandboxId, taken } = useSandbox();
const restore = (body: object, headers: Headers = {}) =>
  door().call('POST', `/v1/sandboxes/${sandboxId()}/restore`, body, headers);

describe('restoring', () => {
  it('answers 200 with the sandbox and the retained state; the same key is the same restore', async () => {
    const { id: snapshotId } = await taken();
    const headers = { 'Idempotency-Key': `restore-${sandboxId()}` };
    const response = await restore({ snapshotId }, headers);
    const answer = await response.json();
    expect([response.status, answer]).toMatchObject([
      200,
      {
        snapshotId,
        keptAs: expect.stringMatching(/^snp-/),
        operationId: expect.stringMatching(/^opn-/),
        sandbox: { id: sandboxId(), state: 'running' },
      },
    ]);
    expect(await (await restore({ snapshotId }, headers)).json()).toEqual(answer);
    expect(door().sagas.operations.filter(({ kind }) => kind === 'restore')).toMatchObject([
      { snapshotId, keepAs: (answer as { keptAs: string }).keptAs },
    ]);
  });

  it('retains nothing with keepCurrent: false', async () => {
    const { id: snapshotId } = await taken();
    const response = await restore({ snapshotId, keepCurrent: false }, { Prefer: 'wait=0' });
    expect([response.status, await response.json()]).toMatchObject([202, { keptAs: null }]);
  });

  it('returns its failure', async () => {
    const { id: snapshotId } = await taken();
    door().sagas.outcome = 'failed';
    expect(await problemOf(await restore({ snapshotId }))).toMatchObject({
      code: 'host_unavailable',
      sandboxId: sandboxId(),
    });
  });

  it('accepts snapshots of that sandbox only', async () => {
    const { id: snapshotId } = await taken();
    const { id } = await jsonOf<SandboxView>(door().call('POST', '/v1/sandboxes', { source: 'golden' }));
    const foreign = await problemOf(await door().call('POST', `/v1/sandboxes/${id}/restore`, { snapshotId }));
    expect([foreign.code, foreign.errors?.[0]?.field]).toEqual(['invalid_request', 'snapshotId']);
    const missing = await restore({ snapshotId: 'snp-0000000000000000' });
    expect(await problemOf(missing)).toMatchObject({ code: 'snapshot_not_found' });
    for (const body of [{}, { snapshotId: sandboxId() }, { snapshotId, keepCurrent: 'no' }, { snapshotId, x: 1 }]) {
      expect((await problemOf(await restore(body))).code).toBe('invalid_request');
    }
  });
});

describe('pausing', () => {
  const act = (what: string, headers: Headers = {}) =>
    door().app.request(`/v1/sandboxes/${sandboxId()}/${what}`, { method: 'POST', headers });

  it('needs no body, and leaves a sandbox whose errors name the remedy', async () => {
    const headers = { 'X-API-Key': await door().key('admin') };
    const paused = await act('pause', headers);
    expect([paused.status, await paused.json()]).toMatchObject([200, { state: 'paused' }]);
    const refused = await door().call('POST', `/v1/sandboxes/${sandboxId()}/commands`, { command: 'true' });
    expect(await problemOf(refused)).toMatchObject({ code: 'sandbox_suspended', retryable: false });
    const resumed = await act('resume', { ...headers, Prefer: 'wait=0' });
    expect([resumed.status, resumed.headers.get('Location')]).toEqual([202, `/v1/sandboxes/${sandboxId()}`]);
  });

  it('is ended by a use of a sandbox with autoResume; the answer has the reason of a failure', async () => {
    const headers = { 'X-API-Key': await door().key('admin') };
    await door().store.sandboxes.update(sandboxId(), { hostId: 'kvm-1' });
    await door().call('PATCH', `/v1/sandboxes/${sandboxId()}`, { autoResume: true });
    expect((await act('hibernate', headers)).status).toBe(200);
    const use = () =>
      door().call('POST', `/v1/sandboxes/${sandboxId()}/commands`, { command: 'true' }, { Prefer: 'wait=1' });
    door().sagas.outcome = 'failed';
    expect(await problemOf(await use())).toMatchObject({ code: 'host_unavailable' });
    expect(door().sagas.startedCommands).toEqual([]);
    door().sagas.outcome = 'never';
    expect((await use()).status).toBe(202);
    expect(door().sagas.startedCommands).toHaveLength(1);
    const file = await door().call('GET', `/v1/sandboxes/${sandboxId()}/files/etc`, undefined, { Prefer: 'wait=0' });
    expect(await problemOf(file)).toMatchObject({ code: 'sandbox_not_running', retryable: true });
    door().sagas.outcome = 'running';
    expect((await use()).status).toBe(202);
    expect(
      door()
        .sagas.operations.map(({ kind }) => kind)
        .filter((kind) => kind !== 'resume'),
    ).toEqual(['hibernate']);
  });

  it('is one operation for one key', async () => {
    const headers = { 'X-API-Key': await door().key('admin'), 'Idempotency-Key': `pause-${sandboxId()}` };
    await act('pause', headers);
    expect((await act('pause', headers)).headers.get('Idempotent-Replayed')).toBe('true');
    expect(door().sagas.operations.length).toBe(1);
  });
});
