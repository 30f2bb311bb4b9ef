import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError } from '../../../clients/typescript/http/problem.ts';
import { retryWhileUnavailable } from '../../../clients/typescript/http/retry.ts';
import type { RunOutput, RunOutputOptions } from '../../../clients/typescript/run-options.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { LIMITS } from '../../../model/limits.ts';
import { flag, option, wholeNumber } from '../../terminal/arguments.ts';
import { CliError, EXIT } from '../../terminal/cli-error.ts';
import { customCommand } from '../../terminal/command.ts';
import type { Io } from '../../terminal/io.ts';
import { RUN, runId } from '../input/names.ts';

const LOOK_EVERY_MS = 300;

/** Output stream of the process, and the local stream it goes to. */
interface Stream {
  stream: 'stdout' | 'stderr';
  to: 'stdout' | 'stderr';
}

const BOTH: readonly Stream[] = [
  { stream: 'stdout', to: 'stdout' },
  { stream: 'stderr', to: 'stderr' },
];

/**
 * `mayfly function logs`: prints each stream to its own, or standard error alone to standard output. Ctrl-C stops the
 * output, never the run.
 */
export const logsCommand = customCommand({
  description: 'Print what the process of a run has printed, each stream to its own',
  args: {
    ...RUN,
    stderr: flag('Its standard error alone, to standard output'),
    attempt: option('Of this attempt (default: the last)'),
    follow: { type: 'boolean', alias: 'f', description: 'Go on until the run has ended', default: false },
  },
  async run({ io, args, connect }) {
    const id = runId(args.id);
    const most = LIMITS.functions.maxAttempts.max;
    const attempt = args.attempt === undefined ? undefined : wholeNumber('attempt', args.attempt, 1, most);
    const { runs } = connect();
    const streams = args.stderr ? [{ stream: 'stderr', to: 'stdout' } as const] : BOTH;
    if (args.follow) await follow(io, runs, id, streams, attempt);
    else await printStored(io, runs, id, streams, attempt);
  },
});

async function printStored(
  io: Io,
  runs: Runs,
  id: string,
  streams: readonly Stream[],
  attempt: number | undefined,
): Promise<void> {
  for (const { stream, to } of streams) {
    const of = { stream, ...(attempt !== undefined && { attempt }), signal: io.signal };
    const found = await outputOf(runs, id, of);
    if (!found) throw nothingOf(id);
    await print(io, to, found);
  }
}

function nothingOf(id: string): CliError {
  return new CliError(
    EXIT.notFound,
    `${id} has printed nothing`,
    'no process was started',
    `See why with \`mayfly function run ${id}\`, or wait for it with -f.`,
  );
}

/** @param only this attempt; undefined: the present one and later ones */
async function follow(io: Io, runs: Runs, id: string, streams: readonly Stream[], only?: number): Promise<void> {
  const { signal } = io;
  let attempt = only;
  for (let offsets = new Map<Stream, number>(); ; ) {
    const run = await retryWhileUnavailable(() => runs.get(id, { signal }), { signal });
    attempt ??= run.attempts.length || undefined;
    const isOver = attempt === undefined || (await printMore(io, runs, { id, attempt }, streams, offsets));
    const isLater = attempt !== undefined && run.attempts.length > attempt;
    if (isOver && attempt !== undefined && only === undefined && isLater) {
      attempt++;
      offsets = new Map();
      io.note(`attempt ${attempt} of ${id}`);
      continue;
    }
    if (run.state === 'ended' && isOver) return;
    if (isOver && isLater) return;
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

/**
 * Prints new output.
 * @param offsets printed bytes by stream; updated
 * @returns true when the streams have ended
 */
async function printMore(
  io: Io,
  runs: Runs,
  { id, attempt }: { id: string; attempt: number },
  streams: readonly Stream[],
  offsets: Map<Stream, number>,
): Promise<boolean> {
  let isOver = true;
  for (const one of streams) {
    const range = { stream: one.stream, attempt, offset: offsets.get(one) ?? 0, signal: io.signal };
    const found = await outputOf(runs, id, range);
    if (!found) continue;
    await print(io, one.to, found);
    offsets.set(one, found.nextOffset);
    isOver &&= found.hasEnded;
  }
  return isOver;
}

/** @returns null: no process was started */
async function outputOf(runs: Runs, id: string, range: RunOutputOptions): Promise<RunOutput | null> {
  return runs.output(id, range).catch((error: unknown) => {
    if (error instanceof MayflyApiError && error.code === 'command_not_found') return null;
    throw error;
  });
}

async function print(io: Io, to: Stream['to'], { bytes }: RunOutput): Promise<void> {
  for await (const piece of bytes) await io.write(to, piece);
}
