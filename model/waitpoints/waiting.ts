import { z } from 'zod';
import { failure, instant } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import type { CommandRecord } from '../sandbox/command.ts';

export const waitSpec = z.object({
  time: z
    .enum(['counts', 'stops'])
    .describe('Whether the time of a process (`timeoutSeconds`) goes on while it waits for a waitpoint'),
  hibernateAfterSeconds: z
    .int()
    .nullable()
    .describe('Its machine is hibernated when its process has waited for so long; null: it never is'),
  releaseSlot: z
    .boolean()
    .describe(
      'Whether others may run in its place while its machine is hibernated; to go on it waits for a slot, in its place of the queue',
    ),
});
/** Policy for a run whose process waits. */
type WaitSpec = z.infer<typeof waitSpec>;

export const DEFAULT_WAIT: WaitSpec = {
  time: 'counts',
  hibernateAfterSeconds: LIMITS.functions.waitpoints.hibernateAfterSeconds.default,
  releaseSlot: false,
};

export const runWaiting = z.object({
  sandboxId: z.string().describe('Of the attempt'),
  since: instant.nullable().describe('Since when its process waits; null: it does not now'),
  ms: z.int().describe('How long it had waited before that'),
  asleepAt: instant.nullable().describe('Since when its machine is hibernated, or about to be; null: it runs'),
  slot: z
    .enum(['held', 'released', 'queued'])
    .describe('`released`: others may run in its place. `queued`: it has what it waited for, and waits for a slot'),
  failure: failure.nullable().describe('Why its machine was not hibernated when that was tried last'),
});
/** State of an attempt's waiting. */
export type RunWaiting = z.infer<typeof runWaiting>;

interface HasWaiting {
  waiting?: RunWaiting | null;
}

/** Returns the waiting state of an attempt, initial if needed. Slots belong to the run, across attempts. */
export function getWaiting({ waiting }: HasWaiting, sandboxId: string): RunWaiting {
  if (waiting?.sandboxId === sandboxId) return waiting;
  return { sandboxId, since: null, ms: 0, asleepAt: null, slot: waiting?.slot ?? 'held', failure: null };
}

/** True when the run has released its slots. */
export function hasReleasedSlot({ waiting }: HasWaiting): boolean {
  return waiting !== undefined && waiting !== null && waiting.slot !== 'held';
}

/** Returns the waiting state after a process starts, continues or stops waiting. @param now ms since 1970 */
export function updateWaiting(waiting: RunWaiting, isBlocked: boolean, now: number): RunWaiting {
  const { since, ms } = waiting;
  if (isBlocked) return { ...waiting, since: since ?? new Date(now).toISOString() };
  return { ...waiting, since: null, ms: ms + (since === null ? 0 : Math.max(0, now - Date.parse(since))) };
}

interface Timed {
  command: Pick<CommandRecord, 'state' | 'requestedAt' | 'startedAt'>;
  waiting: RunWaiting;
  time: WaitSpec['time'];
  timeoutSeconds: number;
}

/**
 * Returns the remaining time of a process; null: not started, or its time is stopped. Its guest's own timeout is
 * longer. Implausible start times from a guest are corrected.
 * @param now ms since 1970
 */
export function getRemainingMs({ command, waiting, time, timeoutSeconds }: Timed, now: number): number | null {
  if (command.state === 'requested') return null;
  const stands = time === 'stops' && waiting.since !== null;
  if (stands) return null;
  const asked = Date.parse(command.requestedAt);
  const began = Math.min(now, Math.max(asked, command.startedAt === null ? asked : Date.parse(command.startedAt)));
  return timeoutSeconds * 1_000 - (now - began) + (time === 'stops' ? waiting.ms : 0);
}

/**
 * Returns the timeout for the guest. Where waiting stops the time, Mayfly enforces the timeout, so the guest's includes
 * the longest wait. Seconds.
 */
export function getGuestTimeoutSeconds({ timeoutSeconds, wait }: { timeoutSeconds: number; wait?: WaitSpec }): number {
  return wait?.time === 'stops' ? timeoutSeconds + LIMITS.functions.waitpoints.timeoutSeconds.max : timeoutSeconds;
}
