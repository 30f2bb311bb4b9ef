import type { ErrorCode } from '../../model/errors.ts';
import type { CommandExit, CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { isMachineEndCode } from '../../model/sandbox/machine-end.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { Mask } from '../../model/secrets/mask.ts';
import type { OutputPosition } from '../../store/commands/output.ts';
import type { Store } from '../../store/connect.ts';
import type { Hypervisor } from '../hypervisor.ts';
import type { GuestClock } from './guest-clock.ts';
import { getLostBytes } from './masked-frames.ts';

/** End of a command for its record. Output sizes are added when it is written. */
export type CommandEnd = Pick<CommandRecord, 'exitCode' | 'signal' | 'reason' | 'failure'> & {
  outcome: NonNullable<CommandRecord['outcome']>;
  /** Exit as reported by the guest; null without a report. */
  exit: CommandExit | null;
};

const ENDING: ReadonlySet<SandboxState> = new Set(['destroying', 'destroyed', 'failed']);
const EMPTY_END = { exitCode: null, signal: null, reason: null, failure: null, exit: null };

export function toExitedEnd(exit: CommandExit): CommandEnd {
  const { outcome, exitCode, signal, reason } = exit;
  return { ...EMPTY_END, outcome, exitCode, signal, reason, exit };
}

/** Returns the end of a command that never starts. */
export function notStartedEnd(code: ErrorCode, message: string): CommandEnd {
  return { ...EMPTY_END, outcome: 'not-started', failure: { code, message } };
}

export function cancelledBeforeStart(): CommandEnd {
  return { ...EMPTY_END, outcome: 'cancelled', reason: 'It was cancelled before it started.' };
}

/** Returns the end for an ended or restored sandbox. Its start may not have been recorded yet. */
export function interruptedEnd(what: 'ended' | 'was restored', { hasStarted }: { hasStarted: boolean }): CommandEnd {
  const reason = hasStarted
    ? `Its sandbox ${what} while it ran.`
    : `Its sandbox ${what} before it was known to have started.`;
  return { ...EMPTY_END, outcome: 'interrupted', reason };
}

/** Returns the end of a command whose outcome is lost. */
export function unknownEnd(reason: string): CommandEnd {
  return { ...EMPTY_END, outcome: 'unknown', reason };
}

/** Returns the end of a command whose sandbox or machine has ended; null when another attempt may learn more. */
export async function endBySandbox(
  { sandboxId }: CommandRecord,
  hasStarted: boolean,
  { store, hypervisor }: { store: Store; hypervisor: Pick<Hypervisor, 'whereabouts'> },
): Promise<CommandEnd | null> {
  const { domain } = await hypervisor.whereabouts(sandboxId);
  // Read after the machine was inspected: an end of the sandbox is recorded before its machine is touched.
  const sandbox = await store.sandboxes.get(sandboxId);
  if (!sandbox || ENDING.has(sandbox.state)) {
    const failure = sandbox?.failure;
    if (failure && isMachineEndCode(failure.code) && hasStarted) return unknownEnd(failure.message);
    return interruptedEnd('ended', { hasStarted });
  }
  if (sandbox.state === 'restoring') return null; // the restore decides whether to interrupt it
  if (domain === 'off') return unknownEnd('Its machine went off, so nobody can tell how it ended.');
  return domain === 'absent' ? unknownEnd('Its machine is gone, so nobody can tell how it ended.') : null;
}

/** Returns the final changes of a command's record. */
export function changesAtEnd(
  record: CommandRecord,
  { exit, reason, failure, ...ending }: CommandEnd,
  { kept, startedAt, clock, mask }: { kept: OutputPosition; startedAt: string | null; clock: GuestClock; mask: Mask },
) {
  const writtenBytes = (stream: OutputStream) =>
    record.spec.isMasked
      ? kept[stream] + getLostBytes(exit, stream)
      : Math.max(exit?.[stream].bytes ?? 0, kept[stream]);
  const start = startedAt ?? (exit && clock.toHost(exit.startedAt)) ?? record.startedAt;
  const now = new Date().toISOString();
  const guestEnd = exit?.endedAt ? clock.toHostEnd(exit.endedAt, start, now) : null;
  return {
    ...ending,
    reason: reason === null ? null : mask.text(reason),
    failure: failure && { ...failure, message: mask.text(failure.message) },
    state: 'ended',
    endedAt: guestEnd ?? (ending.outcome === 'not-started' ? null : now),
    startedAt: start,
    stdout: { bytes: writtenBytes('stdout'), kept: kept.stdout },
    stderr: { bytes: writtenBytes('stderr'), kept: kept.stderr },
  } as const;
}
