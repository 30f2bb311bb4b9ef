import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import mongoose from 'mongoose';
import { afterAll, beforeAll } from 'vitest';
import { Reconciliation } from '../../sagas/reconciliation.ts';
import { eventually } from './eventually.ts';
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

  /**
   * Terminates the workflow of a running sandbox, and waits until Temporal's list of runs shows it: the list follows by
   * seconds on a busy machine, and a round believes it.
   */
  async function loseSaga(id: string): Promise<void> {
    await all().client.workflow.getHandle(`sandbox/${id}`).terminate('lost by a test');
    const open = new Reconciliation(all().client);
    await eventually(
      () => open.openSandboxes(),
      (runs) => !runs.some(({ sandboxId }) => sandboxId === id),
    );
  }

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
