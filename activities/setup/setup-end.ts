import { isWantOfRoom, pauseBeforeAnother } from '../../model/functions/next-step.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import type { SetupRecord, SetupTry } from '../../model/functions/setup/setup.ts';
import type { NextOfSetup, SetupRef } from '../../model/functions/setup/setup-saga.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../store/connect.ts';
import { endOfLog } from '../image/log-end.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import type { TriedSetup } from './setup.ts';

const LOOK: NextOfSetup = { step: 'look' };

/** Activities for the end of a setup's attempt, and for its removal. */
export function createSetupEndActivities({ store, reconciliation }: SagaDeps) {
  /** @returns true when that attempt is still current */
  async function change({ project, setupKey: key, tried }: TriedSetup, of: Changes): Promise<boolean> {
    for (;;) {
      const found = await store.functionSetups.get({ project, key });
      if (found?.state !== 'preparing' || found.tries !== tried.n) return false;
      if (await store.functionSetups.change(found, of(found))) return true;
    }
  }

  /** Wakes the dispatchers of functions whose runs wait for it. */
  async function tell({ project, setupKey }: SetupRef): Promise<void> {
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
    async endSetupSandbox({ tried: { sandboxId } }: TriedSetup): Promise<void> {
      const sandbox = await store.sandboxes.get(sandboxId);
      if (sandbox ? isFinal(sandbox.state) : !(await reconciliation.sandboxes.isOpen(sandboxId))) return;
      await reconciliation.sandboxes.end(sandboxId);
      throw new Error(`${sandboxId} has not ended`);
    },

    /** Resolves when its snapshots are deleted; its sandbox has ended. @throws when it must be retried */
    async removeSetupSnapshots({ tried, project }: TriedSetup): Promise<void> {
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

    async showSetup({ waitingFor, ...of }: TriedSetup & { waitingFor: string | null }): Promise<void> {
      await change(of, () => ({ waitingFor }));
    },

    /** Records a saved setup; all other resources of the attempt are removed. */
    async setupReady({ saved, ...of }: TriedSetup & { saved: { snapshotId: string } }): Promise<void> {
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
      await tell(of);
    },

    /** Records a failed attempt; all its resources are removed. @param failure null: it was abandoned */
    async setupFailed({ failure, ...of }: TriedSetup & { failure: RunFailure | null }): Promise<NextOfSetup> {
      if (failure === null) return LOOK;
      const log = await logOf(of.tried);
      let pauseMs: number | null = null;
      await change(of, ({ failures: before }) => {
        const failures = before + (isWantOfRoom(failure) ? 0 : 1);
        pauseMs = pauseBeforeAnother(failure, of.tried.n, failures);
        if (pauseMs === null) return { state: 'failed', failure, failures, log, waitingFor: null };
        return { failures, waitingFor: failure.message };
      });
      if (pauseMs !== null) return { step: 'again', pauseMs };
      await tell(of);
      return LOOK;
    },
  };
}

type Changes = (found: SetupRecord) => Parameters<Store['functionSetups']['change']>[1];
