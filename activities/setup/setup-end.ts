import { getSandboxBackoffMs, isCapacityError } from '../../model/functions/next-step.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import type { SetupRecord, SetupTry } from '../../model/functions/setup/setup.ts';
import type { SetupNextStep, SetupRef } from '../../model/functions/setup/setup-saga.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { endOfLog } from '../image/log-end.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import type { SetupAttemptRef } from './setup.ts';

const REREAD: SetupNextStep = { step: 'look' };

/** Activities for the end of a setup's attempt, and for its removal. */
export function createSetupEndActivities({ store, reconciliation }: SagaDeps) {
  /** @returns true when that attempt is still current */
  async function change({ project, setupKey: key, tried }: SetupAttemptRef, of: Changes): Promise<boolean> {
    for (;;) {
      const found = await store.functionSetups.get({ project, key });
      if (found?.state !== 'preparing' || found.tries !== tried.n) return false;
      if (await store.functionSetups.change(found, of(found))) return true;
    }
  }

  /** Wakes the dispatchers of functions whose runs wait for it. */
  async function wakeDispatchers({ project, setupKey }: SetupRef): Promise<void> {
    for (const ref of await store.functionVersions.withSetup(project, setupKey)) {
      await reconciliation.functions.wakeDispatcher(ref);
    }
  }

  async function logOf({ commandId }: SetupTry): Promise<string | null> {
    const command = await store.commands.get(commandId);
    return command && (await endOfLog(store.output, command));
  }

  return {
    /** Resolves when it has ended, with its proof. @throws when it must be retried */
    async endSetupSandbox({ tried: { sandboxId } }: SetupAttemptRef): Promise<void> {
      const sandbox = await store.sandboxes.get(sandboxId);
      if (sandbox ? isFinal(sandbox.state) : !(await reconciliation.sandboxes.isOpen(sandboxId))) return;
      await reconciliation.sandboxes.end(sandboxId);
      throw new Error(`${sandboxId} has not ended`);
    },

    /** Resolves when its snapshots are deleted; its sandbox has ended. @throws when it must be retried */
    async removeSetupSnapshots({ tried, project }: SetupAttemptRef): Promise<void> {
      for (const id of [tried.snapshotId, tried.diskSnapshotId]) {
        const found = await store.snapshots.get(id);
        if (!found || found.state === 'failed' || found.state === 'deleted') continue;
        if (found.state === 'creating') throw new Error(`${id} is still being taken`);
        const { hostId, installationId } = found;
        const actor = { ...found.createdBy, project };
        await reconciliation.snapshots.delete({ snapshotId: id, hostId, installationId, actor });
        throw new Error(`${id} is being deleted`);
      }
    },

    /**
     * Removes the record of a removed setup.
     * @returns true when the record is removed; false: it may be needed again
     */
    async forgetSetup({ project, setupKey: key }: SetupRef): Promise<boolean> {
      const found = await store.functionSetups.get({ project, key });
      return !found || (found.state === 'removing' && (await store.functionSetups.remove(found)));
    },

    async showSetup({ waitingFor, ...of }: SetupAttemptRef & { waitingFor: string | null }): Promise<void> {
      await change(of, () => ({ waitingFor }));
    },

    /** Records a saved setup; all other resources of the attempt are removed. */
    async setupReady({ saved, ...of }: SetupAttemptRef & { saved: { snapshotId: string } }): Promise<void> {
      const { snapshotId } = saved;
      const snapshotKind = snapshotId === of.tried.snapshotId ? 'full' : 'disk';
      await change(of, () => ({
        state: 'ready',
        snapshotId,
        snapshotKind,
        failure: null,
        log: null,
        waitingFor: null,
      }));
      await wakeDispatchers(of);
    },

    /** Records a failed attempt; all its resources are removed. @param failure null: it was abandoned */
    async setupFailed({ failure, ...of }: SetupAttemptRef & { failure: RunFailure | null }): Promise<SetupNextStep> {
      if (failure === null) return REREAD;
      const log = await logOf(of.tried);
      let pauseMs: number | null = null;
      await change(of, ({ failures: before }) => {
        const failures = before + (isCapacityError(failure) ? 0 : 1);
        pauseMs = getSandboxBackoffMs(failure, of.tried.n, failures);
        if (pauseMs === null) return { state: 'failed', failure, failures, log, waitingFor: null };
        return { failures, waitingFor: failure.message };
      });
      if (pauseMs !== null) return { step: 'again', pauseMs };
      await wakeDispatchers(of);
      return REREAD;
    },
  };
}

type Changes = (found: SetupRecord) => Parameters<Store['functionSetups']['change']>[1];
