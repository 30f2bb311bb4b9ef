import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { idOrName, positional, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { EXIT, exitCodeOfCode } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { follow, StepPrinter, waitSignal } from './follow.ts';
import { sandboxLines } from './sandbox-text.ts';

/** `mayfly sandbox wait`: attaches to what goes on by itself, such as a create whose command line was ended. */
export const waitCommand = command({
  description: 'Wait until a sandbox runs, or has ended',
  args: {
    id: positional('Id or name of a sandbox'),
    for: { type: 'enum', options: ['running', 'ended'], description: 'What is waited for', default: 'running' },
    ...WAIT_OPTION,
  },
  async call({ io, args, connect, options }) {
    const within = waitSeconds(args.wait);
    const client = connect();
    const first = await client.getSandbox(idOrName(args.id), options);
    const { signal } = waitSignal(io, within);
    const isReached = ({ state }: Sandbox) => isFinal(state) || (args.for === 'running' && state === 'running');
    return follow(client, first, isReached, new StepPrinter(io), signal).catch((error: unknown) => {
      throw signal.aborted ? stillGoing(io, first, within) : error;
    });
  },
  print: sandboxLines,
  exit(record, _io, args) {
    if (args.for === 'ended' || record.state === 'running') return EXIT.ok;
    return record.failure ? exitCodeOfCode(record.failure.code) : EXIT.failed;
  },
});

/** Returns the error that the wait is over, with the command that attaches again. */
export function stillGoing(io: Io, { id }: Sandbox, seconds: number): CliError {
  return new CliError(
    io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
    io.signal.aborted ? `Stopped watching ${id}` : `${id} is not there after ${seconds} s`,
    'its saga goes on without anybody watching',
    `Wait on with \`mayfly sandbox wait ${id}\`; end it with \`mayfly sandbox destroy ${id}\`.`,
  );
}
