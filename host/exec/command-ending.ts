import type { ErrorCode } from '../../model/errors.ts';
import type { CommandExit, CommandRecord } from '../../model/sandbox/command.ts';

/** What the record of a command says of its end. What is in the store of its output is added when it is written. */
export type Ending = Pick<CommandRecord, 'exitCode' | 'signal' | 'reason' | 'failure'> & {
  outcome: NonNullable<CommandRecord['outcome']>;
  /** As the guest told it; null when it did not. */
  exit: CommandExit | null;
};

const NOTHING = { exitCode: null, signal: null, reason: null, failure: null, exit: null };

/** As the guest saw it. */
export function exited(exit: CommandExit): Ending {
  const { outcome, exitCode, signal, reason } = exit;
  return { ...NOTHING, outcome, exitCode, signal, reason, exit };
}

/** It never began, and is not going to. */
export function notStarted(code: ErrorCode, message: string): Ending {
  return { ...NOTHING, outcome: 'not-started', failure: { code, message } };
}

export function cancelledBeforeStart(): Ending {
  return { ...NOTHING, outcome: 'cancelled', reason: 'It was cancelled before it started.' };
}

/** Its sandbox ended, or was put back. A command may have been started just before it could be recorded that it was. */
export function interrupted(what: 'ended' | 'was restored', { hasStarted }: { hasStarted: boolean }): Ending {
  const reason = hasStarted
    ? `Its sandbox ${what} while it ran.`
    : `Its sandbox ${what} before it was known to have started.`;
  return { ...NOTHING, outcome: 'interrupted', reason };
}

/** Nobody can find out any more how it ended. */
export function unknown(reason: string): Ending {
  return { ...NOTHING, outcome: 'unknown', reason };
}
