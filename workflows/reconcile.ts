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
import { shallContinue } from './saga/continue-as-new.ts';
import { onHost } from './saga/host-activities.ts';
import { MINUTE_MS, PROFILE } from './saga/profiles.ts';

const control = proxyActivities<ControlActivities>(PROFILE.work(10 * MINUTE_MS, { heartbeatMs: 30_000 }));

const LOOKS = 20;
/** Milliseconds. */
const LOOK_EVERY_MS = 1_000;

const reconcileNow = defineSignal<[ReconcileTimes]>(RECONCILE_NOW);

/** Reconciles every so often and whenever it is told to; what one round could not do, the next one tries again. */
export async function reconcile(times: ReconcileTimes): Promise<void> {
  let { everyMs, graceMs } = times;
  let isTold = false;
  let isCancelled = false;
  whenCancelled(() => {
    isCancelled = true;
  });
  setHandler(reconcileNow, (told) => {
    ({ everyMs, graceMs } = told);
    isTold = true;
  });
  while (!isCancelled) {
    isTold = false;
    try {
      await reconcileOnce({ graceMs });
      setCurrentDetails('');
    } catch (error) {
      setCurrentDetails(`The last round failed: ${messageOf(error)}`);
    }
    if (!isCancelled && shallContinue()) return continueAsNew<typeof reconcile>({ everyMs, graceMs });
    await condition(() => isTold || isCancelled, everyMs);
  }
}

/** Why an activity failed, and not that one did. */
function messageOf(error: unknown): string {
  return error instanceof ActivityFailure ? `${error.activityType}: ${error.cause?.message}` : String(error);
}

/**
 * Makes store, Temporal and hosts agree, whichever of them has been lost, set back, or changed by hand:
 *
 *   a record that lives, and no run → a run takes it over (sandbox/adopt-sandbox.ts)
 *   a run, and no record or another → the run writes its record again: it knows better than a store that was set back
 *   a run, and a record that has long ended → the run ends
 *   a command, snapshot, capture, source or template under way, and no run → one goes on with it, or removes what is half made
 *   a pool, and no run → one begins; a member whose pool is gone → it ends
 *   an image that was stored and not begun → it begins; one under way, and no run → its sandboxes end, and it has failed
 *   a playbook under way, or stored and not begun, and no run → its sandbox ends, and it has failed
 *   a run of a function that was admitted, and no workflow → one goes on with it
 *   on a host, and in no record → reconcileHost, below
 *
 * Each of these looks again before it does anything, so two at once do no more than one.
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
 * Removes from one host what carries our mark and belongs to nobody, each by a saga of its own, with its proof. What is
 * found is looked at again after a grace time, and only what is still nobody's goes. A host that was forgotten and has
 * come back is given sandboxes again when nothing is left.
 */
export async function reconcileHost({ graceMs, hostId, installationId }: ReconcileHostInput): Promise<void> {
  const host = { hostId, installationId };
  try {
    const before = await strangersOn(host);
    if (before.length > 0) {
      await sleep(graceMs);
      const still = await strangersOn(host);
      const sandboxIds = still.filter((id) => before.includes(id));
      await control.destroyStrangers({ ...host, sandboxIds });
      if (!(await areGone(host, sandboxIds))) return; // the next round looks again
    }
    await control.readmitHost({ hostId });
  } catch (error) {
    if (!isHostDown(error)) throw error; // its worker asks for this itself, when it is back
  }
}

/** Whether their sagas are quick about it. */
async function areGone(host: HostRef, sandboxIds: string[]): Promise<boolean> {
  for (let look = 0; look < LOOKS; look++) {
    const marked = await markedOn(host);
    if (!sandboxIds.some((id) => marked.includes(id))) return true;
    await sleep(LOOK_EVERY_MS);
  }
  return false;
}

function isHostDown(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
}

async function strangersOn(host: HostRef): Promise<string[]> {
  return (await control.strangersAmong({ sandboxIds: await markedOn(host) })).sandboxIds;
}

async function markedOn(host: HostRef): Promise<string[]> {
  return (await onHost(host, PROFILE.probe(MINUTE_MS)).markedSandboxes()).sandboxIds;
}
