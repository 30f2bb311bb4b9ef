import { type ArgsDef, defineCommand } from 'citty';
import { isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { checkArguments, idOrName, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT, exitCodeOfCode } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { follow, StepPrinter, waitSignal } from './follow.ts';
import { sandboxLines } from './sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  for: { type: 'enum', options: ['running', 'ended'], description: 'What is waited for', default: 'running' },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly sandbox wait`: attaches to what goes on by itself, such as a create whose command line was ended. */
export function waitCommand(io: Io) {
  return defineCommand({
    meta: { name: 'wait', description: 'Wait until a sandbox runs, or has ended' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const within = waitSeconds(args.wait);
      const client = connect(io);
      const first = await client.getSandbox(idOrName(args.id), { signal: io.signal });
      const { signal } = waitSignal(io, within);
      const isReached = ({ state }: SandboxRecord) => isFinal(state) || (args.for === 'running' && state === 'running');
      const record = await follow(client, first, isReached, new StepPrinter(io), signal).catch((error: unknown) => {
        throw signal.aborted ? stillGoing(io, first, within) : error;
      });
      if (args.json) io.printJson(record);
      else for (const line of sandboxLines(io, record)) io.print(line);
      if (args.for === 'ended' || record.state === 'running') return EXIT.ok;
      return record.failure ? exitCodeOfCode(record.failure.code) : EXIT.failed;
    },
  });
}

/** Returns the error that the wait is over, with the command that attaches again. */
export function stillGoing(io: Io, { id }: SandboxRecord, seconds: number): CliError {
  return new CliError(
    io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
    io.signal.aborted ? `Stopped watching ${id}` : `${id} is not there after ${seconds} s`,
    'its saga goes on without anybody watching',
    `Wait on with \`mayfly sandbox wait ${id}\`; end it with \`mayfly sandbox destroy ${id}\`.`,
  );
}
