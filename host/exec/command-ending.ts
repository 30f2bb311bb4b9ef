import type { ErrorCode } from '../../model/errors.ts';
import type { CommandExit, CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { isMachineEndCode } from '../../model/sandbox/machine-end.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { Mask } from '../../model/secrets/mask.ts';
import type { OutputPlace } from '../../store/commands/output.ts';
import type { Store } from '../../store/connect.ts';
import type { Hypervisor } from '../hypervisor.ts';
import type { GuestClock } from './guest-clock.ts';
import { lostOf } from './masked-frames.ts';

/** End of a command for its record. Output sizes are added when it is written. */
export type Ending = Pick<CommandRecord, 'exitCode' | 'signal' | 'reason' | 'failure'> & {
  outcome: NonNullable<CommandRecord['outcome']>;
  /** Exit as reported by the guest; null without a report. */
  exit: CommandExit | null;
};

const ENDING: ReadonlySet<SandboxState> = new Set(['destroying', 'destroyed', 'failed']);
const NOTHING = { exitCode: null, signal: null, reason: null, failure: null, exit: null };

export function exited(exit: CommandExit): Ending {
  const { outcome, exitCode, signal, reason } = exit;
  return { ...NOTHING, outcome, exitCode, signal, reason, exit };
}

/** Returns the end of a command that never starts. */
export function notStarted(code: ErrorCode, message: string): Ending {
  return { ...NOTHING, outcome: 'not-started', failure: { code, message } };
}

export function cancelledBeforeStart(): Ending {
  return { ...NOTHING, outcome: 'cancelled', reason: 'It was cancelled before it started.' };
}

/** Returns the end for an ended or restored sandbox. Its start may not have been recorded yet. */
export function interrupted(what: 'ended' | 'was restored', { hasStarted }: { hasStarted: boolean }): Ending {
  const reason = hasStarted
    ? `Its sandbox ${what} while it ran.`
    : `Its sandbox ${what} before it was known to have started.`;
  return { ...NOTHING, outcome: 'interrupted', reason };
}

/** Returns the end of a command whose outcome is lost. */
export function unknown(reason: string): Ending {
  return { ...NOTHING, outcome: 'unknown', reason };
}

/** Returns the end of a command whose sandbox or machine has ended; null when another attempt may learn more. */
export async function endBySandbox(
  { sandboxId }: CommandRecord,
  hasStarted: boolean,
  { store, hypervisor }: { store: Store; hypervisor: Pick<Hypervisor, 'whereabouts'> },
): Promise<Ending | null> {
  const { domain } = await hypervisor.whereabouts(sandboxId);
  // Read after the machine was inspected: an end of the sandbox is recorded before its machine is touched.
  const sandbox = await store.sandboxes.get(sandboxId);
  if (!sandbox || ENDING.has(sandbox.state)) {
    const failure = sandbox?.failure;
    if (failure && isMachineEndCode(failure.code) && hasStarted) return unknown(failure.message);
    return interrupted('ended', { hasStarted });
  }
  if (sandbox.state === 'restoring') return null; // the restore decides whether to interrupt it
  if (domain === 'off') return unknown('Its machine went off, so nobody can tell how it ended.');
  return domain === 'absent' ? unknown('Its machine is gone, so nobody can tell how it ended.') : null;
}

/** Returns the final changes of a command's record. */
export function changesAtEnd(
  record: CommandRecord,
  { exit, reason, failure, ...ending }: Ending,
  { kept, startedAt, clock, mask }: { kept: OutputPlace; startedAt: string | null; clock: GuestClock; mask: Mask },
) {
  const written = (stream: OutputStream) =>
    record.spec.isMasked ? kept[stream] + lostOf(exit, stream) : Math.max(exit?.[stream].bytes ?? 0, kept[stream]);
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
    stdout: { bytes: written('stdout'), kept: kept.stdout },
    stderr: { bytes: written('stderr'), kept: kept.stderr },
  } as const;
}
