import type { CommandRecord } from '../sandbox/command.ts';
import type { Attempt } from './run.ts';

/** End of an attempt, derived from its process. */
export type AttemptEnd = Pick<Attempt, 'outcome' | 'exitCode' | 'signal' | 'startedAt' | 'failure'>;

/** Derives an attempt's end from the end of its command. */
export function toAttemptEnd(command: CommandRecord): AttemptEnd {
  const { outcome, exitCode, signal, startedAt, failure, reason } = command;
  const plain = { exitCode, signal, startedAt, failure: null };
  switch (outcome) {
    case 'exited':
      return exitCode === 0
        ? { ...plain, outcome: 'succeeded' }
        : failedEnd(plain, `it ended with exit code ${exitCode}`);
    case 'signaled':
      return failedEnd(plain, `it was ended by ${signal}`);
    case 'timed-out': {
      const message = `it did not end within ${command.spec.timeoutSeconds} s`;
      return { ...plain, outcome: 'timed-out', failure: { code: 'run_timed_out', message } };
    }
    case 'cancelled':
      return { ...plain, outcome: 'cancelled' };
    case 'not-started':
      return { ...plain, outcome: 'not-started', failure: failure ?? { code: 'internal', message: reason ?? '' } };
    case 'interrupted':
    case 'unknown':
    case null:
      return {
        ...plain,
        outcome: 'unknown',
        failure: { code: 'run_interrupted', message: reason ?? 'its machine ended' },
      };
  }
}

/** True when the process started or may have started: false for `requested`, and for a known `not-started`. */
export function mayHaveStarted({ state, outcome }: Pick<CommandRecord, 'state' | 'outcome'>): boolean {
  return state === 'running' || (state === 'ended' && outcome !== 'not-started');
}

/** Returns the end of a started attempt whose outcome is unknown. */
export function unknownEnd(message: string): AttemptEnd & { outcome: 'unknown' } {
  const failure = { code: 'run_interrupted', message } as const;
  return { outcome: 'unknown', exitCode: null, signal: null, startedAt: null, failure };
}

function failedEnd(plain: Omit<AttemptEnd, 'outcome'>, message: string): AttemptEnd {
  return { ...plain, outcome: 'failed', failure: { code: 'run_failed', message } };
}
