import { type ArgsDef, defineCommand } from 'citty';
import { unprovenLayers } from '../../model/sandbox/proof.ts';
import { isFinal, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { checkArguments, JSON_OPTION, sandboxId, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT, type ExitCode } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { follow, StepPrinter, waitSignal } from './follow.ts';
import { sandboxLines } from './sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Sandbox id', required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** Gone means proved: every layer looked at, nothing found. */
function verdict(record: SandboxRecord): ExitCode {
  const proved = record.proof !== null && unprovenLayers(record.proof.observations).length === 0;
  return isFinal(record.state) && proved ? EXIT.ok : EXIT.failed;
}

/** `mayfly sandbox destroy`: done when the proof is there, in whatever state the sandbox was. */
export function destroyCommand(io: Io) {
  return defineCommand({
    meta: { name: 'destroy', description: 'End a sandbox and wait for the proof that nothing is left' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = sandboxId(args.id);
      const seconds = waitSeconds(args.wait);
      const client = connect(io);
      const before = await client.getSandbox(id, { signal: io.signal });
      const asked = await client.destroySandbox(id, { waitSeconds: 0, signal: io.signal });
      const { signal } = waitSignal(io, seconds);
      const printer = new StepPrinter(io, before.steps.length);
      const record = await follow(client, asked, (r) => isFinal(r.state), printer, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
        throw new CliError(
          io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
          io.signal.aborted ? `Stopped watching ${id}` : `${id} is not proved to be gone after ${seconds} s`,
          'its saga goes on removing it without anybody watching',
          `See what it waits for with \`mayfly sandbox get ${id}\`.`,
        );
      });
      if (args.json) io.printJson(record);
      else for (const line of sandboxLines(io, record)) io.print(line);
      return verdict(record);
    },
  });
}
