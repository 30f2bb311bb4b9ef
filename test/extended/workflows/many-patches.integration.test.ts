import { expect } from 'vitest';
import { sandboxWorkflowId } from '../../../model/sagas/queues.ts';
import { eventually } from '../../support/eventually.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import type { TestOperations } from '../../support/operations.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Runs with Temporal's own limits: 2,000 updates, 51,200 events and 50 MiB per run. */
const { test } = useSagaCases({ kind: 'in-memory' });

const MINUTES = 60_000;
const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

async function patched(mayfly: MayflyCase, id: string, count: number, metadata: (n: number) => Record<string, string>) {
  const left = Array.from({ length: count }, (_, n) => n).values();
  const caller = async () => {
    for (const n of left) await mayfly.sagas.sandboxes.patch(id, { metadata: metadata(n), actor });
  };
  await Promise.all([caller(), caller(), caller(), caller()]);
}

async function runsOf(mayfly: MayflyCase, id: string): Promise<number> {
  const { count } = await mayfly.client.workflow.count(`WorkflowId = "${sandboxWorkflowId(id)}"`);
  return count;
}

/** Asserts that later operations and the delete work, and that the TTL still holds. */
async function livesOn(mayfly: MayflyCase, operations: TestOperations, id: string, expiresAt: string): Promise<void> {
  expect(await operations.pause(id)).toBeNull();
  expect(await operations.resume(id)).toBeNull();
  expect(await mayfly.record(id)).toMatchObject({ state: 'running', expiresAt });
  expect(await mayfly.destroy(id)).toMatchObject({ state: 'destroyed', stopReason: 'deleted' });
  await eventually(
    () => runsOf(mayfly, id),
    (runs) => runs > 2,
  );
}

test('takes 500 PATCHes of 32 KiB', { timeout: 30 * MINUTES }, async ({ mayfly, operations }) => {
  const { id } = await mayfly.create();
  await mayfly.sagas.sandboxes.patch(id, { ttlSeconds: 80_000, actor });
  const { expiresAt } = await mayfly.record(id);
  const large = (n: number) =>
    Object.fromEntries(Array.from({ length: 32 }, (_, key) => [`key-${key}`, String(n % 10).repeat(1_024)]));
  await patched(mayfly, id, 500, large);
  await livesOn(mayfly, operations, id, expiresAt);
});
