import { expect } from 'vitest';
import { createDispatchActivities } from '../../activities/function/queue/dispatch.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { functionRecord, functionVersion, runRecord } from '../store/run-records.ts';
import { type OpenedStore, useStore } from '../support/use-store.ts';

const created = Date.now();

/** Sets up a dispatcher on a real store; Temporal is a fake that notes started and cancelled runs. */
export function useDispatcher() {
  let opened: OpenedStore | undefined;
  const started: string[] = [];
  const cancelled: string[] = [];
  let [names, count] = [0, 100];
  useStore(
    (given) => {
      opened = given;
    },
    { auditKey: Buffer.alloc(32, 7) },
  );
  const get = () => {
    if (!opened) throw new Error('the store is not open yet');
    return opened;
  };
  const store = () => get().store;

  class NotedReconciliation extends ControlTemporalClient {
    constructor() {
      super(null as never);
      this.functions.startRun = async ({ runId }) => {
        started.push(runId);
        return 'begun';
      };
      this.functions.cancelRun = async (runId) => void cancelled.push(runId);
    }
  }

  /** Creates the activities of a dispatcher, by default on the store of this file. */
  const createActivities = (on: Store = store()) =>
    createDispatchActivities({ store: on, reconciliation: new NotedReconciliation() });

  const admit = (name: string, after = '') => createActivities().admitRuns({ project: 'default', name, after });

  /** Stores a function with these versions, the last one active. @returns its name */
  async function deploy(...specs: Partial<FunctionSpec>[]): Promise<string> {
    const name = `fn-${++names}`;
    await store().functions.create(functionRecord({ name, activeVersion: specs.length }));
    for (const [n, spec] of specs.entries()) {
      const version = { ...functionVersion(spec), function: name, version: n + 1, digest: `d${n + 1}` };
      await store().functionVersions.create(version);
    }
    return name;
  }

  /** Queues a run accepted a second after the previous one. */
  async function queue(name: string, changes: Partial<RunRecord> = {}): Promise<RunRecord> {
    const acceptedAt = new Date(created + ++count * 1_000).toISOString();
    const run = runRecord(count, { function: name, versionDigest: 'd1', acceptedAt, ...changes });
    expect(await store().runs.accept(run, Buffer.from('{}'))).toBe(true);
    return run;
  }

  const getState = async ({ id }: RunRecord) => {
    const run = await store().runs.get(id);
    return run && (run.skippedFor ?? run.outcome ?? run.state);
  };
  const getStates = (runs: readonly RunRecord[]) => Promise.all(runs.map(getState));

  return {
    store,
    db: () => get().db,
    started,
    cancelled,
    createActivities,
    admit,
    deploy,
    queue,
    getState,
    getStates,
  };
}
