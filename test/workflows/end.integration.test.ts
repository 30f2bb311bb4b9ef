import { describe, expect } from 'vitest';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { MayflyCase } from '../support/mayfly-case.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { test } = useSagaCases({ kind: 'in-memory' });

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

async function statesOf(mayfly: MayflyCase, id: string): Promise<unknown[]> {
  const entries = await mayfly.store.audit.entries(id, { limit: 1_000 });
  const events = entries.map(({ body }) => JSON.parse(body) as AuditEvent);
  return events.flatMap(({ detail }) => (detail['state'] === undefined ? [] : [detail['state']]));
}

describe.concurrent('an update and the end', () => {
  test('a longer TTL counts when it is requested before the old one expires, and stored after', async ({ mayfly }) => {
    const { id } = await mayfly.create();
    await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 6, actor });
    const { expiresAt } = await mayfly.record(id);
    mayfly.arm('remember.before=1*delay(8000)', id);
    await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 600, actor });
    expect(Date.now()).toBeGreaterThan(Date.parse(expiresAt)); // the old timer has fired
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', spec: { ttlSeconds: 600 } });
  });

  test('a longer TTL also counts during an operation', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 6, actor });
    mayfly.arm('saveSnapshot.before=delay(9000)', id);
    const snapshotId = await operations.beginSnapshot(id);
    await operations.beganStep(id, 'saveSnapshot');
    mayfly.arm('remember.before=1*delay(8000)', id);
    await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 600, actor });
    expect(await operations.ended(id, snapshotId)).toBeNull();
    expect(await mayfly.record(id)).toMatchObject({ state: 'running', spec: { ttlSeconds: 600 } });
  });

  test('requests after the TTL are refused, even before the record shows the end', async ({ mayfly, operations }) => {
    const { id } = await mayfly.create();
    mayfly.arm('saveSnapshot.before=hang; removeDomain.before=1*delay(8000)', id);
    await operations.beginSnapshot(id);
    await operations.beganStep(id, 'saveSnapshot');
    await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 3, actor });
    await operations.beganStep(id, 'removeDomain');
    expect(await mayfly.record(id)).toMatchObject({ state: 'running' });
    await expect(mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 600, actor })).rejects.toMatchObject({
      code: 'sandbox_ended',
    });
    expect(await mayfly.end(id)).toMatchObject({ state: 'destroyed', stopReason: 'ttl' });
  });

  test('two concurrent updates both count', async ({ mayfly }) => {
    const { id, expiresAt } = await mayfly.create();
    mayfly.arm('remember.before=1*delay(1000)', id);
    await Promise.all([
      mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 5_000, actor }),
      mayfly.sagas.sandboxes.patch(id, { metadata: { a: 'b' }, actor }),
      mayfly.sagas.sandboxes.patch(id, { idleSeconds: 900, actor }),
    ]);
    const record = await mayfly.record(id);
    expect(record.spec).toMatchObject({ ttlSeconds: 5_000, idleSeconds: 900, metadata: { a: 'b' } });
    expect(Date.parse(record.expiresAt)).toBeGreaterThan(Date.parse(expiresAt) + 3_600_000);
  });
});

describe.concurrent('a late delete', () => {
  test.for(['destroyed', 'failed'] as const)('leaves a %s sandbox unchanged', async (state, { mayfly }) => {
    const input = mayfly.input();
    if (state === 'failed') mayfly.arm('awaitIp.before=error(ip_timeout)', input.id);
    await mayfly.create(input);
    if (state === 'destroyed') await mayfly.destroy(input);
    const ended = await mayfly.end(input.id);
    expect(ended.state).toBe(state);
    const states = await statesOf(mayfly, input.id);
    expect(await mayfly.destroy(input)).toEqual(ended); // starts a new saga: that of the sandbox has ended
    expect(await statesOf(mayfly, input.id)).toEqual(states);
  });
});
