import { digestOfKey } from '../../model/functions/key-digest.ts';
import { isLargeEvent, type RunRecord } from '../../model/functions/run.ts';
import { WAITING } from '../../model/functions/run-state.ts';
import type { FunctionRef } from './functions.ts';
import type { QueueFields } from './run-document.ts';

/** So much earlier than it was accepted a run counts for each step of its priority: so those that wait long are not overtaken for ever. Milliseconds. */
const PRIORITY_MS = 60_000;
export const NO_KEY = '-';

/** Where a run stands before its admission. */
export function placeOf(run: RunRecord): Pick<QueueFields, 'queued' | 'large' | 'gathers' | 'wakeAt' | 'unchecked'> {
  const { state, waitingFor, project, eventBytes } = run;
  const isLarge = isLargeEvent(eventBytes) && WAITING.some((each) => each === state);
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
      gathers: `${gatheringPrefix(run)}/${turnOf(since, run)}`,
      wakeAt: new Date(Date.parse(since) + ms).toISOString(),
    };
  }
  if (state === 'delayed') return { wakeAt: waitingFor === 'check' ? expiresAt : (dueAt ?? acceptedAt) };
  if (state !== 'queued') return {};
  const since = new Date(Date.parse(acceptedAt) - priority * PRIORITY_MS).toISOString();
  const ref = { project: run.project, name: run.function };
  return { queued: `${prefixOf(ref)}/${hashOf(run.lane)}/${turnOf(since, run)}`, wakeAt: expiresAt };
}

/** Those of a function in the order in which they were accepted. */
function uncheckedPlaceOf(run: RunRecord): string {
  return `${prefixOf({ project: run.project, name: run.function })}/${turnOf(run.acceptedAt, run)}`;
}

/** Where one stands among others, by an instant and then by the order in which their API took them. @param since ISO 8601 */
function turnOf(since: string, { seq, id }: Pick<RunRecord, 'seq' | 'id'>): string {
  return `${since}-${String(seq).padStart(6, '0')}/${id}`;
}

/** Whether it is one of those that gather now. */
export function isGathering({ state, waitingFor, batch }: RunRecord): boolean {
  return state === 'delayed' && batch === null && (waitingFor === 'debounce' || waitingFor === 'batch');
}

/** ISO 8601. */
function gatheringSince({ acceptedAt, dueAt }: RunRecord): string {
  return dueAt ?? acceptedAt;
}

/** Of those with the same key. */
export function gatheringPrefix({ project, function: name, gatheringKey }: RunRecord): string {
  return `${prefixOf({ project, name })}/${hashOf(gatheringKey)}`;
}

export function prefixOf({ project, name }: FunctionRef): string {
  return `${project}/${name}`;
}

/** A key as it stands in an index. */
export function hashOf(key: string | null): string {
  return key === null ? NO_KEY : digestOfKey(key);
}

/** By which it is looked for: the first of its keys. */
export function firstKeyOf({ keys }: Pick<RunRecord, 'keys'>): string {
  return hashOf(keys.find((key) => key !== null) ?? null);
}
