import pino from 'pino';
import { expect } from 'vitest';
import { DESTROY, MACHINE_ENDED, UPDATE_SPEC } from '../../model/sagas/messages.ts';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { startSandbox } from '../../services/sandboxes/start-sandbox.ts';
import { temporalClient } from '../../worker/payloads/data-converter.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { HANGS_AFTER_MS } from '../support/test-timeouts.ts';

const { test, alone } = useSagaCases({ kind: 'in-memory' });

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

test('only the request that starts a saga writes its record; one that joins leaves that to the saga', async ({
  mayfly,
}) => {
  const [store, sagas] = [mayfly.store, mayfly.sagas];
  const deps = { store, sagas, logger: pino({ level: 'silent' }) };
  const preference = { seconds: 0, applied: null };
  const input = mayfly.input();
  const later = { ...input, requestedAt: new Date(Date.parse(input.requestedAt) + 1_000).toISOString() };
  expect(await startSandbox(deps, input, preference)).toMatchObject({ createdAt: input.requestedAt });
  expect(await startSandbox(deps, later, preference)).toBeNull();
  await sagas.sandboxes.settled(input.id, AbortSignal.timeout(HANGS_AFTER_MS));
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running', createdAt: input.requestedAt });
  const entries = (await store.audit.entries(input.id, { limit: 10 })).map(
    ({ body }) => JSON.parse(body) as { kind: string },
  );
  expect(entries.filter(({ kind }) => kind === 'sandbox.requested')).toHaveLength(1);
});

test('the TTL ends a sandbox', async ({ mayfly }) => {
  const input = mayfly.input();
  expect(await mayfly.create(input)).toMatchObject({ state: 'running' });
  await mayfly.sagas.sandboxes.patch(input.id, { ttlSeconds: 3, actor });
  const ended = await mayfly.end(input.id);
  expect(ended).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
  expect(Date.parse(ended.updatedAt)).toBeGreaterThanOrEqual(Date.parse(ended.expiresAt));
});

test('an ended sandbox cannot be patched', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  await mayfly.destroy(input);
  await expect(mayfly.sagas.sandboxes.patch(input.id, { ttlSeconds: 60, actor })).rejects.toMatchObject({
    code: 'sandbox_ended',
  });
});

test('two concurrent deletes return the same proof', async ({ mayfly }) => {
  const input = mayfly.input();
  await mayfly.create(input);
  const [one, other] = await Promise.all([mayfly.destroy(input), mayfly.destroy(input)]);
  expect(one).toEqual(other);
  expect(one.state).toBe('destroyed');
});

test('an unencrypted signal, or one without its argument, is dropped', async ({ mayfly }) => {
  const input = await mayfly.createRunning();
  const { connection } = mayfly.client;
  const operator = temporalClient({ connection, namespace: mayfly.client.options.namespace, dataConverter: {} });
  const workflow = operator.workflow.getHandle(sandboxWorkflowId(input.id));
  await workflow.signal(DESTROY);
  await workflow.signal(DESTROY, { actor: input.createdBy, reason: 'api' });
  await workflow.signal(MACHINE_ENDED);
  const update = workflow.executeUpdate(UPDATE_SPEC, { args: [{ ttlSeconds: 60 }] });
  // The refusal is encrypted, so that this client cannot read it.
  await expect(update).rejects.toThrow('binary/encrypted');
  await mayfly.sagas.sandboxes.patch(input.id, { ttlSeconds: 600, actor });
  expect(await mayfly.record(input.id)).toMatchObject({ state: 'running' });
  expect(await mayfly.destroy(input)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
});

test('a cancel of its workflow destroys a running sandbox with proof, which DELETE returns', async ({ mayfly }) => {
  const input = await mayfly.createRunning();
  const workflow = mayfly.client.workflow.getHandle(sandboxWorkflowId(input.id));
  await workflow.cancel();
  await workflow.cancel();
  const ended = await mayfly.end(input.id);
  expect(ended).toMatchObject({ state: 'destroyed', stopReason: 'deleted', failure: null });
  expect(unprovenLayers(ended.proof?.observations ?? [])).toEqual([]);
  expect(await mayfly.destroy(input)).toEqual(ended);
});

alone('the same create twice makes one sandbox', async ({ mayfly }) => {
  const input = mayfly.input();
  await Promise.all([mayfly.create(input), mayfly.create(input)]);
  expect(await mayfly.store.sandboxes.all(['running'])).toHaveLength(1);
});
