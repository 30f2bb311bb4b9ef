import { expect } from 'vitest';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { eventually } from '../support/eventually.ts';
import { expectProof } from '../support/expect-proof.ts';
import { useReconcileCases } from '../support/reconcile-cases.ts';

const { alone, mayfly: all, reconcile, loseSaga, listKinds, awaitAdoption } = useReconcileCases();

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

alone("Temporal's database is lost: what lives lives on, and its TTL ends it", async ({ mayfly }) => {
  const long = mayfly.input({ ttlSeconds: 600 });
  const brief = mayfly.input({ ttlSeconds: 6 });
  const [before] = await Promise.all([mayfly.create(long), mayfly.create(brief)]);
  mayfly.memory?.write(long.id, 'kept', 'yes');
  await all().loseTemporal();
  await reconcile();
  await awaitAdoption(long.id);
  expect(await mayfly.record(long.id)).toMatchObject({ state: 'running', expiresAt: before.expiresAt, failure: null });
  expect(mayfly.memory?.read(long.id, 'kept')).toBe('yes');
  expect(await mayfly.end(brief.id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
  // An adopted sandbox can be operated and adopted again.
  await all().sagas.sandboxes.operate(long.id, { kind: 'pause', operationId: `opn-${long.id.slice(4)}`, actor });
  await mayfly.until(long.id, ({ state }) => state === 'paused');
  expect(await listKinds(long.id)).toContain('sandbox.taken-over');
  expect(await mayfly.destroy(long)).toMatchObject({ state: 'destroyed', failure: null });
});

alone('a saga is lost whose machine is gone: failed, with the reason, and proved', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await loseSaga(input.id);
  mayfly.memory?.domains.delete(input.id);
  await reconcile();
  const lost = await mayfly.end(input.id);
  expect(lost).toMatchObject({ state: 'failed', stopReason: 'lost', failure: { code: 'sandbox_lost' } });
  expect(lost.failure?.message).toContain('Its machine is off');
  expect(unprovenLayers(lost.proof?.observations ?? [])).toEqual([]);
  expect(await listKinds(input.id)).toContain('sandbox.lost');
});

alone('what was half made when its saga was lost is removed', async ({ mayfly }) => {
  const input = mayfly.input();
  mayfly.arm('awaitIp.before=hang', input.id);
  await mayfly.sagas.sandboxes.create(input);
  await mayfly.until(input.id, ({ state }) => state === 'creating');
  await loseSaga(input.id);
  mayfly.arm(undefined, input.id);
  await reconcile();
  const lost = await mayfly.end(input.id);
  expect(lost).toMatchObject({ state: 'failed', failure: { code: 'sandbox_lost' } });
  expect(lost.failure?.message).toContain('It was creating');
  expect(unprovenLayers(lost.proof?.observations ?? [])).toEqual([]);
});

alone('a sandbox whose workflow an operator terminates is destroyed with its proof', async ({ mayfly }) => {
  const { id } = await mayfly.createRunning();
  await all().client.workflow.getHandle(sandboxWorkflowId(id)).terminate('by a test');
  await eventually(
    async () => {
      await reconcile(); // Temporal's list of open workflows is stale for a while
      return (await mayfly.record(id)).state;
    },
    (state) => state !== 'running',
  );
  const ended = await mayfly.end(id);
  expect(ended).toMatchObject({ state: 'destroyed', stopReason: 'deleted', failure: null });
  expectProof(ended);
});
