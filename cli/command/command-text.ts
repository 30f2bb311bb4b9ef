import { constants } from 'node:os';
import type { Command } from '../../clients/typescript/http/openapi.ts';
import { between, duration } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';

/** Exit code of ssh when it is not the remote program's own (ssh(1), EXIT STATUS). */
const SSH_FAILURE = 255;

/**
 * Returns the exit code of `mayfly run`: the command's own; 128 plus the signal, as in shells; 124 after a timeout, as
 * timeout(1); 130 when cancelled; 125 to 127 when not started, as docker run; 255 when its outcome is unknown, as ssh.
 */
export function exitCodeOfCommand({ outcome, exitCode, signal, failure }: Command): number {
  switch (outcome) {
    case 'exited':
      return exitCode ?? SSH_FAILURE;
    case 'signaled':
      return 128 + ((signal && (constants.signals as Record<string, number>)[signal]) || 0);
    case 'timed-out':
      return EXIT.waitedTooLong;
    case 'cancelled':
      return EXIT.interrupted;
    case 'not-started':
      if (failure?.code === 'program_not_found') return EXIT.programNotFound;
      if (failure?.code === 'program_not_executable') return EXIT.notExecutable;
      return EXIT.notItsCommand;
    case 'interrupted':
    case 'unknown':
    case null:
      return SSH_FAILURE;
  }
}

type ShownCommand = Pick<Command, 'id' | 'state' | 'outcome' | 'exitCode' | 'startedAt' | 'endedAt'> & {
  spec: Pick<Command['spec'], 'command' | 'argv'>;
};

export function commandRow(command: ShownCommand): string[] {
  const { id, state, outcome, exitCode, spec, startedAt, endedAt } = command;
  const how = outcome === 'exited' ? `exit ${exitCode}` : (outcome ?? state);
  const took = startedAt && endedAt ? duration(between(startedAt, endedAt)) : '';
  return [id, how, took, commandLine(spec)];
}

function commandLine({ command, argv }: ShownCommand['spec']): string {
  const text =
    command ?? (argv ?? []).map((arg) => (/^[\w./:=@%+-]+$/.test(arg) ? arg : JSON.stringify(arg))).join(' ');
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
