import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { flag, idOrName, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { CliError, usageError } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { EXIT, type ExitCode } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { everyItem } from '../terminal/list.ts';
import { exitCodeOf, reportError } from '../terminal/report-error.ts';
import { follow, StepPrinter, waitSignal } from './follow.ts';
import { sandboxLines } from './sandbox-text.ts';

/** Gone means proved: every layer looked at, nothing found. */
function verdict(record: Sandbox): ExitCode {
  const proved = record.proof !== null && unprovenLayers(record.proof.observations).length === 0;
  return isFinal(record.state) && proved ? EXIT.ok : EXIT.failed;
}

/** `mayfly sandbox destroy`: done when the proof is there, in whatever state the sandbox was. */
export const destroyCommand = customCommand({
  description: 'End sandboxes and wait for the proof that nothing is left',
  args: {
    id: { type: 'positional', description: 'Ids or names of sandboxes', required: false },
    all: flag('All that live, except those that pools keep ready'),
    ...WAIT_OPTION,
    ...JSON_OPTION,
  },
  repeatable: ['id'],
  async run({ io, args, repeated, connect }) {
    const given = repeated('id').map(idOrName);
    if (args.all === given.length > 0) throw usageError('give either sandboxes or --all');
    const within = waitSeconds(args.wait);
    const client = connect();
    const ids = args.all ? await livingIds(io, client) : given;
    const { signal } = waitSignal(io, within);
    // All are asked to end before the first is waited for.
    const asked = await Promise.allSettled(ids.map((id) => end(io, client, id)));
    let worst: ExitCode = EXIT.ok;
    for (const [n, id] of ids.entries()) {
      const code = await finish(io, client, asked[n], { id, within, signal, json: args.json }).catch(
        (error: unknown) => {
          if (ids.length === 1) throw error;
          reportError(io, error, { json: args.json });
          return exitCodeOf(error);
        },
      );
      if (worst === EXIT.ok) worst = code;
    }
    return worst;
  },
});

/** Ids of sandboxes that somebody has: a pool would replace the others. */
async function livingIds(io: Io, client: MayflyClient): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of everyItem((page) => client.listSandboxes({ ...page, alive: true }), io.signal))
    ids.push(id);
  io.note(ids.length === 1 ? '1 sandbox lives' : `${ids.length} sandboxes live`);
  return ids;
}

interface Ending {
  record: Sandbox;
  /** How many steps were over before. */
  printed: number;
}

async function end(io: Io, client: MayflyClient, idOrName: string): Promise<Ending> {
  const before = await client.getSandbox(idOrName, { signal: io.signal });
  const record = await client.destroySandbox(before.id, { waitSeconds: 0, signal: io.signal });
  return { record, printed: before.steps.length };
}

/** Waits for the proof of one, and prints it. */
async function finish(
  io: Io,
  client: MayflyClient,
  asked: PromiseSettledResult<Ending> | undefined,
  { id, within, signal, json }: { id: string; within: number; signal: AbortSignal; json: boolean },
): Promise<ExitCode> {
  if (asked?.status !== 'fulfilled') throw asked?.reason;
  const printer = new StepPrinter(io, asked.value.printed);
  const isOver = ({ state }: Sandbox) => isFinal(state);
  const record = await follow(client, asked.value.record, isOver, printer, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new CliError(
      io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong,
      io.signal.aborted ? `Stopped watching ${id}` : `${id} is not proved to be gone after ${within} s`,
      'its saga goes on removing it without anybody watching',
      `See what it waits for with \`mayfly sandbox get ${id}\`.`,
    );
  });
  if (json) io.printJson(record);
  else for (const line of sandboxLines(io, record)) io.print(line);
  return verdict(record);
}
