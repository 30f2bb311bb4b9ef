import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.ts';
import type { HostRef } from '../model/host.ts';
import {
  RECONCILE_NOW,
  type ReconcileHostInput,
  type ReconcileInput,
  type ReconcileTimes,
} from '../model/sagas/reconcile.ts';
import { whenCancelled } from './saga/cancellation.ts';
import { shouldContinueAsNew } from './saga/continue-as-new.ts';
import { onHost } from './saga/host-activities.ts';
import { MINUTE_MS, PROFILE } from './saga/profiles.ts';

const control = proxyActivities<ControlActivities>(PROFILE.work(10 * MINUTE_MS, { heartbeatMs: 30_000 }));

const MAX_POLLS = 20;
const POLL_INTERVAL_MS = 1_000;

const reconcileNow = defineSignal<[ReconcileTimes]>(RECONCILE_NOW);

/** Reconciles at an interval and on each signal. The next round retries what this one could not do. */
export async function reconcile(times: ReconcileTimes): Promise<void> {
  let { everyMs, graceMs } = times;
  let isNotified = false;
  let isCancelled = false;
  whenCancelled(() => {
    isCancelled = true;
  });
  setHandler(reconcileNow, (told) => {
    ({ everyMs, graceMs } = told);
    isNotified = true;
  });
  while (!isCancelled) {
    isNotified = false;
    try {
      await reconcileOnce({ graceMs });
      setCurrentDetails('');
    } catch (error) {
      setCurrentDetails(`The last round failed: ${messageOf(error)}`);
    }
    if (!isCancelled && shouldContinueAsNew()) return continueAsNew<typeof reconcile>({ everyMs, graceMs });
    await condition(() => isNotified || isCancelled, everyMs);
  }
}

/** Returns why an activity failed, not merely that one did. */
function messageOf(error: unknown): string {
  return error instanceof ActivityFailure ? `${error.activityType}: ${error.cause?.message}` : String(error);
}

/**
 * Makes store, Temporal and hosts agree after any of them was lost, restored from a backup, or changed by hand:
 *
 *   live record without a workflow → a workflow adopts it (sandbox/adopt-sandbox.ts)
 *   workflow with a missing or older record → the workflow rewrites its record: it is newer than a restored store
 *   workflow whose record ended long ago → the workflow ends
 *   unfinished command, snapshot, capture, source or template without a workflow → a new one finishes it, or removes its residue
 *   pool without a workflow → one starts; member whose pool is deleted → the member ends
 *   image stored but not started → it starts; unfinished without a workflow → its sandboxes end and it fails
 *   playbook unfinished or not started, without a workflow → its sandbox ends and it fails
 *   admitted function run without a workflow → one resumes it
 *   orphan on a host → reconcileHost, below
 *
 * Each repair checks again before it acts, so concurrent rounds are harmless.
 */
export async function reconcileOnce({ graceMs }: ReconcileInput): Promise<void> {
  const { unattended, misrecorded, outlived } = await control.compareRecords({ graceMs });
  await control.restoreRecords({ sandboxIds: misrecorded });
  await control.takeOverSandboxes({ sandboxIds: unattended });
  await control.endRuns({ sandboxIds: outlived });
  await control.resumeCommands({ graceMs });
  await control.resumeSnapshots({ graceMs });
  await control.resumeCaptures({ graceMs });
  await control.resumeSources({ graceMs });
  await control.resumeTemplates({ graceMs });
  await control.resumePools({ graceMs });
  await control.resumeImages({ graceMs });
  await control.endLostPlaybooks({ graceMs });
  await control.resumeRuns({ graceMs });

  const { hosts } = await control.hostsToReconcile();
  const rounds = await Promise.allSettled(hosts.map((host) => reconcileHost({ ...host, graceMs })));
  for (const round of rounds) if (round.status === 'rejected') throw round.reason;
}

/**
 * Removes orphans from one host, each by a workflow of its own, with proof. Only orphans that are still there after a
 * grace time are removed. A decommissioned host that has come back is readmitted once it is clean.
 */
export async function reconcileHost({ graceMs, hostId, installationId }: ReconcileHostInput): Promise<void> {
  const host = { hostId, installationId };
  try {
    const before = await listOrphansOn(host);
    if (before.length > 0) {
      await sleep(graceMs);
      const still = await listOrphansOn(host);
      const sandboxIds = still.filter((id) => before.includes(id));
      await control.destroyStrangers({ ...host, sandboxIds });
      if (!(await areGone(host, sandboxIds))) return; // the next round checks again
    }
    await control.readmitHost({ hostId });
  } catch (error) {
    if (!isHostDown(error)) throw error; // its worker requests a round when it is back
  }
}

/** Reports whether the sandboxes leave the host within {@link MAX_POLLS} polls. */
async function areGone(host: HostRef, sandboxIds: string[]): Promise<boolean> {
  for (let look = 0; look < MAX_POLLS; look++) {
    const marked = await listMarkedOn(host);
    if (!sandboxIds.some((id) => marked.includes(id))) return true;
    await sleep(POLL_INTERVAL_MS);
  }
  return false;
}

function isHostDown(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
}

async function listOrphansOn(host: HostRef): Promise<string[]> {
  return (await control.strangersAmong({ sandboxIds: await listMarkedOn(host) })).sandboxIds;
}

async function listMarkedOn(host: HostRef): Promise<string[]> {
  return (await onHost(host, PROFILE.probe(MINUTE_MS)).markedSandboxes()).sandboxIds;
}
