import type { ErrorCode } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import type { CommandRecord } from '../sandbox/command.ts';

/** Whether the time of a process goes on while it waits. */
export const WAIT_TIMES = ['counts', 'stops'] as const;
type WaitTime = (typeof WAIT_TIMES)[number];

/** What becomes of a run whose process waits. */
export interface WaitSpec {
  time: WaitTime;
  /** Its machine is hibernated when its process has waited for so long; null: it never is. */
  hibernateAfterSeconds: number | null;
  /** Whether its slots are others' while its machine is hibernated. */
  releaseSlot: boolean;
}

export const DEFAULT_WAIT: WaitSpec = {
  time: 'counts',
  hibernateAfterSeconds: LIMITS.functions.waitpoints.hibernateAfterSeconds.default,
  releaseSlot: false,
};

/** `released`: it has given its slots back. `queued`: it has what it waited for, and waits for slots in its place of the queue. */
export const WAIT_SLOTS = ['held', 'released', 'queued'] as const;
export type WaitSlot = (typeof WAIT_SLOTS)[number];

/** How an attempt of a run waits, and has waited. */
export interface RunWaiting {
  /** Of the attempt. */
  sandboxId: string;
  /** Since when its process waits; null: it does not. ISO 8601 */
  since: string | null;
  /** How long it had waited before that. Milliseconds. */
  ms: number;
  /** Since when its machine is hibernated, or about to be; null: it runs. ISO 8601 */
  asleepAt: string | null;
  slot: WaitSlot;
  /** Why it was not hibernated when that was tried last; null: it was, or was not tried. */
  failure: { code: ErrorCode; message: string } | null;
}

interface OfRun {
  waiting?: RunWaiting | null;
}

/** Of an attempt that has not waited yet. Slots are the run's, whatever its attempt. */
export function waitingOf({ waiting }: OfRun, sandboxId: string): RunWaiting {
  if (waiting?.sandboxId === sandboxId) return waiting;
  return { sandboxId, since: null, ms: 0, asleepAt: null, slot: waiting?.slot ?? 'held', failure: null };
}

/** Whether it has given its slots back. */
export function lacksSlot({ waiting }: OfRun): boolean {
  return waiting !== undefined && waiting !== null && waiting.slot !== 'held';
}

/** How its waiting is written down when its process begins to wait, goes on waiting, or does not wait. @param now milliseconds since 1970 */
export function nowWaiting(waiting: RunWaiting, isBlocked: boolean, now: number): RunWaiting {
  const { since, ms } = waiting;
  if (isBlocked) return { ...waiting, since: since ?? new Date(now).toISOString() };
  return { ...waiting, since: null, ms: ms + (since === null ? 0 : Math.max(0, now - Date.parse(since))) };
}

interface Timed {
  command: Pick<CommandRecord, 'state' | 'requestedAt' | 'startedAt'>;
  waiting: RunWaiting;
  time: WaitTime;
  timeoutSeconds: number;
}

/**
 * How much of its time a process has left, of which its guest keeps a longer one; null: it does not run, since it is not started yet, or stands still.
 * A guest that says that it started it earlier, or later, than can be is not believed.
 * @param now milliseconds since 1970
 */
export function timeLeftMs({ command, waiting, time, timeoutSeconds }: Timed, now: number): number | null {
  if (command.state === 'requested') return null;
  const stands = time === 'stops' && waiting.since !== null;
  if (stands) return null;
  const asked = Date.parse(command.requestedAt);
  const began = Math.min(now, Math.max(asked, command.startedAt === null ? asked : Date.parse(command.startedAt)));
  return timeoutSeconds * 1_000 - (now - began) + (time === 'stops' ? waiting.ms : 0);
}

/** What a guest is told of the time of a process. Where that stops, it is ended from outside, and this is only as long as any wait may be. Seconds. */
export function guestTimeoutOf({ timeoutSeconds, wait }: { timeoutSeconds: number; wait?: WaitSpec }): number {
  return wait?.time === 'stops' ? timeoutSeconds + LIMITS.functions.waitpoints.timeoutSeconds.max : timeoutSeconds;
}
