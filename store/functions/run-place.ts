import { digestOfKey } from '../../model/functions/key-digest.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { FunctionRef } from './functions.ts';
import type { QueueFields } from './run-document.ts';

/** So much earlier than it was accepted a run counts for each step of its priority: so those that wait long are not overtaken for ever. Milliseconds. */
const PRIORITY_MS = 60_000;
export const NO_KEY = '-';

/** Where a run stands before its admission. */
export function placeOf(run: RunRecord): Pick<QueueFields, 'queued' | 'wakeAt'> {
  const { id, state, acceptedAt, priority, dueAt, expiresAt } = run;
  if (state === 'delayed') return { wakeAt: dueAt ?? acceptedAt };
  if (state !== 'queued') return {};
  const since = new Date(Date.parse(acceptedAt) - priority * PRIORITY_MS).toISOString();
  const rank = `${since}-${String(run.seq).padStart(6, '0')}`;
  const ref = { project: run.project, name: run.function };
  return { queued: `${prefixOf(ref)}/${firstKeyOf(run)}/${rank}/${id}`, wakeAt: expiresAt };
}

export function prefixOf({ project, name }: FunctionRef): string {
  return `${project}/${name}`;
}

export function keyOf({ keys }: Pick<RunRecord, 'keys'>, rule: number): string {
  const key = keys[rule] ?? null;
  return key === null ? NO_KEY : digestOfKey(key);
}

/** By which its function takes turns: of the first of its keys. */
export function firstKeyOf(run: Pick<RunRecord, 'keys'>): string {
  return keyOf(
    run,
    run.keys.findIndex((key) => key !== null),
  );
}
