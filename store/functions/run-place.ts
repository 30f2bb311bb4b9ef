import { digestKey } from '../../model/functions/key-digest.ts';
import { isLargeEvent, type RunRecord } from '../../model/functions/run.ts';
import { WAITING_STATES } from '../../model/functions/run-state.ts';
import type { FunctionRef } from './functions.ts';
import type { QueueFields } from './run-document.ts';

/**
 * Time by which each step of priority advances a run, ms; finite, so that long waiting runs are not overtaken for ever.
 */
const PRIORITY_MS = 60_000;
export const NO_KEY = '-';

/** Returns the index fields of a run before its admission. */
export function getQueueFields(
  run: RunRecord,
): Pick<QueueFields, 'queued' | 'large' | 'gathers' | 'wakeAt' | 'unchecked'> {
  const { state, waitingFor, project, eventBytes } = run;
  const isLarge = isLargeEvent(eventBytes) && WAITING_STATES.some((each) => each === state);
  return {
    ...queuePlaceOf(run),
    ...(isLarge && { large: project }),
    ...(waitingFor === 'check' && { unchecked: uncheckedPlaceOf(run) }),
  };
}

function queuePlaceOf(run: RunRecord): Pick<QueueFields, 'queued' | 'gathers' | 'wakeAt'> {
  const { state, waitingFor, acceptedAt, priority, dueAt, expiresAt, gathering } = run;
  if (gathering && isGathering(run)) {
    const ms = gathering.kind === 'debounce' ? gathering.periodMs : gathering.maxWaitMs;
    const since = gatheringSince(run);
    return {
      gathers: `${gatheringPrefix(run)}/${getSortKey(since, run)}`,
      wakeAt: new Date(Date.parse(since) + ms).toISOString(),
    };
  }
  if (state === 'delayed') return { wakeAt: waitingFor === 'check' ? expiresAt : (dueAt ?? acceptedAt) };
  if (state !== 'queued') return {};
  const since = new Date(Date.parse(acceptedAt) - priority * PRIORITY_MS).toISOString();
  const ref = { project: run.project, name: run.function };
  return { queued: `${prefixOf(ref)}/${hashKey(run.lane)}/${getSortKey(since, run)}`, wakeAt: expiresAt };
}

/** Returns a key that orders the unchecked runs of a function by acceptance. */
function uncheckedPlaceOf(run: RunRecord): string {
  return `${prefixOf({ project: run.project, name: run.function })}/${getSortKey(run.acceptedAt, run)}`;
}

/** Returns a key that orders by an instant, then by the sequence number of the API process. @param since ISO 8601 */
function getSortKey(since: string, { seq, id }: Pick<RunRecord, 'seq' | 'id'>): string {
  return `${since}-${String(seq).padStart(6, '0')}/${id}`;
}

export function isGathering({ state, waitingFor, batch }: RunRecord): boolean {
  return state === 'delayed' && batch === null && (waitingFor === 'debounce' || waitingFor === 'batch');
}

/** Returns the start of the gathering, ISO 8601. */
function gatheringSince({ acceptedAt, dueAt }: RunRecord): string {
  return dueAt ?? acceptedAt;
}

/** Returns the common prefix of runs with the same gathering key. */
export function gatheringPrefix({ project, function: name, gatheringKey }: RunRecord): string {
  return `${prefixOf({ project, name })}/${hashKey(gatheringKey)}`;
}

export function prefixOf({ project, name }: FunctionRef): string {
  return `${project}/${name}`;
}

/** Returns the form of a key in an index. */
export function hashKey(key: string | null): string {
  return key === null ? NO_KEY : digestKey(key);
}

/** Returns the hash of a run's first key, by which queries find it. */
export function hashFirstKey({ keys }: Pick<RunRecord, 'keys'>): string {
  return hashKey(keys.find((key) => key !== null) ?? null);
}
