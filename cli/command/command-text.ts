import { constants } from 'node:os';
import type { Command } from '../../clients/typescript/http/openapi.ts';
import { between, duration } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';

/** What ssh ends with when it is not the remote program's own code (ssh(1), EXIT STATUS). */
const NOT_ITS_OWN = 255;

/**
 * The exit code to end with: the command's own; 128 and the signal's number as a shell has it; timeout(1)'s 124; 130
 * when it was cancelled; 125 to 127, as docker run, when it was not started; 255, as ssh, when what became of it is not known.
 */
export function exitCodeOfCommand({ outcome, exitCode, signal, failure }: Command): number {
  switch (outcome) {
    case 'exited':
      return exitCode ?? NOT_ITS_OWN;
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
      return NOT_ITS_OWN;
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
