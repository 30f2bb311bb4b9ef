import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import mongoose from 'mongoose';
import { afterAll, beforeAll } from 'vitest';
import { loseWorkflow } from './lose-workflow.ts';
import { useSagaCases } from './saga-cases.ts';
import { HANGS_AFTER_MS } from './test-timeouts.ts';

/** Age below which a round leaves a change alone, ms: here nothing else changes. */
export const GRACE_MS = 100;

/** {@link useSagaCases} on the host in memory, with what loses sagas and records, and reconciles. */
export function useReconcileCases() {
  const cases = useSagaCases({ kind: 'in-memory' });
  const all = cases.mayfly;
  let database: mongoose.Connection | undefined;
  beforeAll(async () => {
    database = await mongoose.createConnection(all().config.mongodbUri ?? '').asPromise();
  });
  afterAll(() => database?.close());

  /** Runs one round, with what it does on hosts. */
  async function reconcile({ client }: { client: Client } = all()): Promise<void> {
    const workflowId = `reconcile-${randomBytes(4).toString('hex')}`;
    const options = { workflowId, taskQueue: 'mayfly-control', args: [{ graceMs: GRACE_MS }] };
    await client.workflow.execute('reconcileOnce', options);
  }

  /** Loses the workflow of a running sandbox. */
  const loseSaga = (id: string) => loseWorkflow(all().client, `sandbox/${id}`);

  /** Deletes its record, as a restored backup from before its creation does. */
  async function deleteRecord(id: string): Promise<void> {
    for (const name of ['sandboxes', 'endedSandboxes']) {
      await database?.collection<{ _id: string }>(name).deleteOne({ _id: id });
    }
  }

  async function listKinds(id: string): Promise<string[]> {
    const entries = await all().store.audit.entries(id, { limit: 100 });
    return entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
  }

  /** Waits until a new workflow has adopted it. */
  async function awaitAdoption(id: string): Promise<void> {
    await all().sagas.settled(id, AbortSignal.timeout(HANGS_AFTER_MS));
  }

  return { ...cases, reconcile, loseSaga, deleteRecord, listKinds, awaitAdoption };
}
