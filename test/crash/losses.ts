import { Client, Connection } from '@temporalio/client';
import mongoose from 'mongoose';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { loseWorkflow } from '../support/lose-workflow.ts';
import { ask, outcomeOf, PATIENCE_MS, WAIT } from './asking.ts';
import { insisting } from './insisting.ts';
import type { CrashInstallation } from './installation.ts';
import { type Act, TTL } from './stage.ts';

/** Milliseconds. */
const AN_HOUR = 3_600_000;

/** Reconciles two sandboxes without a workflow: the one with a record is adopted, the other is destroyed. */
export const RECONCILE: Act = {
  prepare: async (stage) => {
    const ids = await Promise.all([stage.sandbox(), stage.sandbox()]);
    await loseRuns(stage.mayfly, ids);
    await loseRecord(stage.mayfly, ids[1] ?? '');
    return ids;
  },
  run: async ({ client, mayfly }, [known = '', unknown = '']) => {
    await insisting(() => triggerRound(mayfly), PATIENCE_MS);
    return outcomeOf(async () => {
      const { state } = await ask(() => client.getSandbox(known));
      if (state !== 'running') return state;
      const orphan = await ask(() => client.getSandbox(unknown)).catch(unlessCode('sandbox_not_found', null));
      if (orphan?.state !== 'failed') return 'creating';
      const extended = ask(() => client.extendSandbox(known, TTL));
      return (await extended.catch(unlessCode('sandbox_ended', null))) ? 'goes on' : 'creating';
    }, 'goes on');
  },
};

/** Decommissions a host silent for an hour, with a sandbox whose machine lives; then the host comes back. */
export const FORGET: Act = {
  prepare: async (stage) => {
    const ids = [await stage.sandbox()];
    await stage.mayfly.parts.host.down();
    await silenceForAnHour(stage.mayfly);
    return ids;
  },
  run: async ({ client, mayfly }, [id = '']) => {
    try {
      return await outcomeOf(async () => {
        await ask(() => client.forgetHost(mayfly.hostId(), WAIT));
        const { state, failure } = await ask(() => client.getSandbox(id));
        return failure?.code === 'host_forgotten' ? 'unproved' : state === 'running' ? 'destroying' : state;
      }, 'unproved');
    } finally {
      mayfly.parts.host.up();
    }
  },
};

function unlessCode<T>(code: string, instead: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof MayflyApiError && error.code === code) return instead;
    throw error;
  };
}

/** Deletes workflows, like a loss of Temporal's database. */
function loseRuns(mayfly: CrashInstallation, sandboxIds: readonly string[]): Promise<void> {
  return inTemporal(mayfly, async (client) => {
    for (const id of sandboxIds) await loseWorkflow(client, `sandbox/${id}`);
  });
}

/** Starts a reconciler round now. */
function triggerRound(mayfly: CrashInstallation): Promise<void> {
  return inTemporal(mayfly, (client) =>
    new ControlTemporalClient(client).reconciler.reconcileNow({ everyMs: 60_000, graceMs: 30_000 }),
  );
}

/** Deletes a record, like a restore of the store from a backup. */
function loseRecord(mayfly: CrashInstallation, sandboxId: string): Promise<void> {
  return inStore(mayfly, async (store) => {
    await store.collection<{ _id: string }>('sandboxes').deleteOne({ _id: sandboxId });
  });
}

/** Sets the last sign of life of a host an hour back. */
export function silenceForAnHour(mayfly: CrashInstallation, nth = 0): Promise<void> {
  return inStore(mayfly, async (store) => {
    const lastSeenAt = new Date(Date.now() - AN_HOUR).toISOString();
    const $set = { lastSeenAt, claimedAt: lastSeenAt };
    await store.collection<{ _id: string }>('hosts').updateOne({ _id: mayfly.hostId(nth) }, { $set });
  });
}

async function inTemporal(mayfly: CrashInstallation, act: (client: Client) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address: mayfly.temporalAddress });
  try {
    await act(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

export async function inStore<T>(
  mayfly: CrashInstallation,
  act: (store: mongoose.Connection) => Promise<T>,
): Promise<T> {
  const store = await mongoose.createConnection(mayfly.storeUri, { serverSelectionTimeoutMS: 10_000 }).asPromise();
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}
