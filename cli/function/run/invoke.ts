import type { Run } from '../../../clients/typescript/http/openapi.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { flag } from '../../terminal/arguments.ts';
import { CliError } from '../../terminal/cli-error.ts';
import { customCommand } from '../../terminal/command.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { type AskedEvent, EVENT_ARGS, eventOf, stored } from '../input/event-data.ts';
import { functionName, NAME } from '../input/names.ts';
import { exitCodeOfRun, outcomeOf, stateOf } from './run-text.ts';
import { tellEndOfStderr } from './stderr-tail.ts';

/** `mayfly function invoke`: the result is all that it writes to standard output. Ctrl-C lets the run go on. */
export const invokeCommand = customCommand({
  description: 'Have a function run for an event, and print its result',
  args: {
    ...NAME,
    ...EVENT_ARGS,
    json: flag('Print the run instead of its result'),
  },
  async run({ io, args, connect, options }) {
    const name = functionName(args.name);
    const event = await eventOf(args);
    const { runs } = connect();
    const accepted = await accept(io, runs, name, event);
    const run = await followed(io, runs, accepted);
    if (run === null) return EXIT.interrupted;
    if (args.json) io.printJson(run);
    else if (run.outcome === 'succeeded' && run.result) {
      await io.write('stdout', (await runs.result(run.id, options)).bytes);
    }
    if (run.outcome !== 'succeeded') await tellEndOfStderr(io, runs, run);
    io.note(outcomeOf(run));
    return exitCodeOfRun(run);
  },
});

/** It is asked again with the same key when the connection is lost, but not after Ctrl-C: that would begin it. */
async function accept(io: Io, runs: Runs, name: string, event: AskedEvent): Promise<Run> {
  try {
    return await stored(io, runs, name, event);
  } catch (cause) {
    if (!io.signal.aborted) throw cause;
    const look = `See \`mayfly function runs ${name}\` for whether there is a run.`;
    throw new CliError(EXIT.interrupted, 'Interrupted', 'the API did not say whether it took the event', look, {
      cause,
    });
  }
}

/** @returns the run when it has ended; null: Ctrl-C came first, and it goes on */
async function followed(io: Io, runs: Runs, { id }: Run): Promise<Run | null> {
  io.note(id);
  try {
    return await runs.ended(id, {
      until: 'ended',
      look: (run) => io.noteForNow(io.paint('dim', `  ${stateOf(run)} …`)),
      signal: io.signal,
    });
  } catch (error) {
    if (!io.signal.aborted) {
      io.note(`${id} goes on: mayfly function run ${id}`);
      throw error;
    }
    io.note(`${id} goes on; end it with: mayfly function cancel ${id}`);
    return null;
  } finally {
    io.endNoteForNow();
  }
}
