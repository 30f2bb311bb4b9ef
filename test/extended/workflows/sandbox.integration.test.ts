import { expect } from 'vitest';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { eventually } from '../../support/eventually.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { HANGS_AFTER_MS } from '../../support/test-timeouts.ts';

const { test, alone } = useSagaCases({ kind: 'in-memory' });

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

test('the TTL ends a sandbox that is still being created', async ({ mayfly }) => {
  const input = mayfly.input({ ttlSeconds: 1 });
  mayfly.arm('awaitIp.before=hang', input.id);
  await mayfly.sagas.sandboxes.create(input);
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl', runningAt: null });
});

test('an idle sandbox ends, and one in use does not', async ({ mayfly }) => {
  const [input, unused] = [mayfly.input({ idleSeconds: 4 }), mayfly.input({ idleSeconds: 4 })];
  await mayfly.create(unused);
  await mayfly.create(input); // last: nothing uses it while another is created
  const ended = await eventually(
    async () => {
      await mayfly.store.activity.touch(input.id);
      return mayfly.record(unused.id);
    },
    ({ state }) => isFinal(state),
  );
  expect(ended).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
  expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', stopReason: 'idle' });
});

test('a patch extends the TTL and replaces the metadata', async ({ mayfly }) => {
  const [input, other] = [mayfly.input({ ttlSeconds: 15 }), mayfly.input({ ttlSeconds: 15 })];
  const { expiresAt } = await mayfly.create(input);
  await mayfly.sagas.sandboxes.patch(input.id, { ttlSeconds: 600, metadata: { a: 'b' }, actor });
  const patched = await mayfly.record(input.id);
  expect(Date.parse(patched.expiresAt)).toBeGreaterThan(Date.parse(expiresAt) + 500_000);
  expect(patched.spec.metadata).toEqual({ a: 'b' });
  await mayfly.create(other); // it expires later than the first would have
  expect(await mayfly.end(other.id)).toMatchObject({ stopReason: 'ttl' });
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
  await mayfly.destroy(input);
});

test('a record whose workflow is gone can still be destroyed', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await mayfly.client.workflow.getHandle(`sandbox/${input.id}`).terminate('as a lost dev-server file would');
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
});

alone(
  'a host that is down keeps the destroy waiting, visibly, and it goes on when the host is back',
  async ({ mayfly }) => {
    const input = mayfly.input({}, { hostDownMs: 3_000 });
    await mayfly.create(input);
    await mayfly.host?.stop();
    await mayfly.sagas.sandboxes.destroy({ ...input, begin: 'destroy' }, { actor });
    const waiting = await mayfly.until(input.id, (record) => record.waitingFor !== null);
    expect(waiting).toMatchObject({ state: 'destroying', proof: null });
    expect(waiting.waitingFor).toContain('the host worker does not answer');
    await mayfly.startHost();
    expect(await mayfly.end(input.id)).toMatchObject({ state: 'destroyed', waitingFor: null });
  },
);

alone('a host worker that is replaced in the middle of a create resumes it', async ({ mayfly }) => {
  const input = mayfly.input();
  mayfly.arm('awaitIp.before=1*delay(1500)', input.id);
  await mayfly.sagas.sandboxes.create(input);
  await mayfly.until(input.id, (record) => record.phase === 'awaiting-ip');
  await mayfly.host?.stop();
  await mayfly.startHost();
  await mayfly.sagas.sandboxes.settled(input.id, AbortSignal.timeout(HANGS_AFTER_MS));
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
});
