import type { Run } from '../../../clients/typescript/http/openapi.ts';
import type { BatchItem } from '../../../clients/typescript/run-options.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { LIMITS } from '../../../model/limits.ts';
import { flag, option, seconds } from '../../terminal/arguments.ts';
import { CliError, EXIT } from '../../terminal/cli-error.ts';
import { command, customCommand } from '../../terminal/command.ts';
import { type Io, printable } from '../../terminal/io.ts';
import { EVENT_ARGS, type EventInput, jsonOf, readEvent, storeEvent } from '../input/event-data.ts';
import { functionName, NAME } from '../input/names.ts';
import { printEndOfStderr } from './open.ts';
import { exitCodeOfRun, outcomeOf, stateOf } from './run-text.ts';

/** `mayfly function invoke`: prints only the result to standard output. After Ctrl-C the run continues. */
export const invokeCommand = customCommand({
  description: 'Have a function run for an event, and print its result',
  args: {
    ...NAME,
    ...EVENT_ARGS,
    json: flag('Print the run instead of its result'),
  },
  async run({ io, args, connect, options }) {
    const name = functionName(args.name);
    const event = await readEvent(args);
    const { runs } = connect();
    const accepted = await accept(io, runs, name, event);
    const run = await followRun(io, runs, accepted);
    if (run === null) return EXIT.interrupted;
    if (args.json) io.printJson(run);
    else if (run.outcome === 'succeeded' && run.result) {
      await io.write('stdout', (await runs.result(run.id, options)).bytes);
    }
    if (run.outcome !== 'succeeded') await printEndOfStderr(io, runs, run);
    io.note(outcomeOf(run));
    return exitCodeOfRun(run);
  },
});

/** Sends the event, again with the same key after a lost connection, but not after Ctrl-C: that could start the run. */
async function accept(io: Io, runs: Runs, name: string, event: EventInput): Promise<Run> {
  try {
    return await storeEvent(io, runs, name, event);
  } catch (cause) {
    if (!io.signal.aborted) throw cause;
    const look = `See \`mayfly function runs ${name}\` for whether there is a run.`;
    throw new CliError(EXIT.interrupted, 'Interrupted', 'the API did not say whether it took the event', look, {
      cause,
    });
  }
}

/** @returns the ended run; null: Ctrl-C came first, and the run continues */
async function followRun(io: Io, runs: Runs, { id }: Run): Promise<Run | null> {
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

/** `mayfly function batch`: done when each event is stored or refused. */
export const batchCommand = command({
  description: 'Have a function run for each CloudEvent of a list, and print what became of each',
  args: {
    ...NAME,
    file: {
      type: 'string',
      valueHint: 'path',
      description: 'A file with a JSON list of up to 1,000 CloudEvents; - for standard input',
      default: '-',
    },
  },
  async call({ args, connect, options }) {
    const name = functionName(args.name);
    const items = await connect().runs.createBatch(name, await jsonOf({ path: args.file }), options);
    return { items };
  },
  print(io, { items }) {
    for (const item of items) io.print(printable(lineOf(item)));
  },
  exit: ({ items }) => (items.every((item) => 'runId' in item) ? EXIT.ok : EXIT.failed),
});

function lineOf(item: BatchItem): string {
  if ('runId' in item) return item.isNew ? item.runId : `${item.runId} known`;
  const { code, detail } = item.problem;
  return `refused: ${detail} (${code})`;
}

/** `mayfly function trigger`: done when the event is stored. */
export const triggerCommand = command({
  description: 'Have a function run for an event, and print the id of its run',
  args: {
    ...NAME,
    ...EVENT_ARGS,
    delay: option('Do not start it before', '10m'),
  },
  async call({ io, args, connect }) {
    const name = functionName(args.name);
    const { delaySeconds } = LIMITS.functions;
    const delay = args.delay === undefined ? {} : { delaySeconds: seconds('delay', args.delay, delaySeconds) };
    const event = await readEvent(args);
    return storeEvent(io, connect().runs, name, event, { ...delay, signal: io.signal });
  },
  print: (_io, run) => run.id,
});
