import { setTimeout as sleep } from 'node:timers/promises';
import { type ArgsDef, defineCommand } from 'citty';
import { MayflyApiError } from '../../../client/http/api-error.ts';
import type { RunOutput, RunOutputOptions } from '../../../client/run-shapes.ts';
import type { Runs } from '../../../client/runs.ts';
import { LIMITS } from '../../../model/limits.ts';
import { checkArguments, wholeNumber } from '../../terminal/arguments.ts';
import { CliError } from '../../terminal/cli-error.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { RUN, runId } from './names.ts';

const ARGS = {
  ...RUN,
  stderr: { type: 'boolean', description: 'Its standard error, not its standard output', default: false },
  attempt: { type: 'string', description: 'Of this attempt (default: the last)' },
  follow: { type: 'boolean', alias: 'f', description: 'Go on until the run has ended', default: false },
} as const satisfies ArgsDef;

const LOOK_EVERY_MS = 300;

/** `mayfly function logs`: one stream, on standard output. Ctrl-C ends the watching, never the run. */
export function logsCommand(io: Io) {
  return defineCommand({
    meta: { name: 'logs', description: 'Print what the process of a run has printed' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = runId(args.id);
      const most = LIMITS.functions.maxAttempts.max;
      const attempt = args.attempt === undefined ? undefined : wholeNumber('attempt', args.attempt, 1, most);
      const { runs } = connect(io);
      const stream = args.stderr ? 'stderr' : 'stdout';
      if (args.follow) await follow(io, runs, id, stream, attempt);
      else await printStored(io, runs, id, { stream, ...(attempt !== undefined && { attempt }) });
      return EXIT.ok;
    },
  });
}

async function printStored(io: Io, runs: Runs, id: string, range: RunOutputOptions): Promise<void> {
  const found = await outputOf(runs, id, { ...range, signal: io.signal });
  if (found) return print(io, found);
  throw new CliError(
    EXIT.notFound,
    `${id} has printed nothing`,
    'no process was started',
    `See why with \`mayfly function run ${id}\`, or wait for it with -f.`,
  );
}

/** @param only this attempt; undefined: the one that is there now, and those that come */
async function follow(io: Io, runs: Runs, id: string, stream: 'stdout' | 'stderr', only?: number): Promise<void> {
  const { signal } = io;
  let attempt = only;
  for (let offset = 0; ; ) {
    const run = await runs.get(id, { signal });
    attempt ??= run.attempts.length || undefined;
    const found = attempt && (await outputOf(runs, id, { stream, attempt, offset, signal }));
    if (found) {
      await print(io, found);
      offset = found.nextOffset;
    }
    const isLater = attempt !== undefined && run.attempts.length > attempt;
    const isOver = !found || found.hasEnded;
    if (isOver && attempt !== undefined && only === undefined && isLater) {
      attempt++;
      offset = 0;
      io.note(`attempt ${attempt} of ${id}`);
      continue;
    }
    if (run.state === 'ended' && isOver) return;
    if (isOver && isLater) return;
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

/** Null: no process was started. */
async function outputOf(runs: Runs, id: string, range: RunOutputOptions): Promise<RunOutput | null> {
  return runs.output(id, range).catch((error: unknown) => {
    if (error instanceof MayflyApiError && error.code === 'command_not_found') return null;
    throw error;
  });
}

async function print(io: Io, { bytes }: RunOutput): Promise<void> {
  for await (const piece of bytes) await io.write('stdout', piece);
}
