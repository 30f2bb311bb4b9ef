import type { BulkRequest } from '../../../clients/typescript/functions.ts';
import type { BulkAction, Run } from '../../../clients/typescript/http/openapi.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { waitSignal } from '../../sandbox/sandbox-text.ts';
import { JSON_OPTION, WAIT_OPTION, waitSeconds } from '../../terminal/arguments.ts';
import { EXIT } from '../../terminal/cli-error.ts';
import { customCommand } from '../../terminal/command.ts';
import { connect } from '../../terminal/connection.ts';
import { followRecord, type Io, printable } from '../../terminal/io.ts';
import { functionName, RUN_OR_ALL, runId, VERSION, versionOf } from '../input/names.ts';
import { cleanupOf, outcomeOf, stateOf } from './run-text.ts';

const DONE: Record<BulkAction['action'], string> = {
  replay: 'replayed',
  redrive: 'redriven',
  cancel: 'being cancelled',
};

/** Acts on many runs of a function, and waits for the end. After Ctrl-C the action continues. @returns exit code */
async function actOnAll(io: Io, name: string, wish: BulkRequest, isJson: boolean): Promise<number> {
  const { functions } = connect(io);
  const { signal } = io;
  const begun = await functions.startBulk(name, { ...wish, signal });
  io.note(begun.id);
  const bulk = await followRecord(begun, {
    show: (now) => io.noteForNow(io.paint('dim', `  ${countsOf(now)} …`)),
    isOver: ({ endedAt }) => endedAt !== null,
    read: ({ id }) => functions.bulk(name, id, { signal }),
    signal,
  }).finally(() => io.endNoteForNow());
  if (bulk.endedAt === null) {
    io.note(`${bulk.id} goes on`);
    return EXIT.interrupted;
  }
  if (isJson) io.printJson(bulk);
  else io.print(countsOf(bulk));
  for (const { runId, failure } of bulk.refusals) io.note(printable(`${runId}: ${failure.message} (${failure.code})`));
  return bulk.counts.refused === 0 && bulk.state === 'succeeded' ? EXIT.ok : EXIT.failed;
}

function countsOf({ action, counts: { done, refused } }: BulkAction): string {
  return `${done} ${DONE[action]}${refused > 0 ? `, ${refused} refused` : ''}`;
}

/** `mayfly function cancel`: done when the run has ended and is cleaned up. */
export const cancelCommand = customCommand({
  description: 'Have a run end: its process is ended, and its sandbox is destroyed',
  args: { ...RUN_OR_ALL, ...WAIT_OPTION, ...JSON_OPTION },
  async run({ io, args, connect, options }) {
    const seconds = waitSeconds(args.wait);
    if (args.all) return actOnAll(io, functionName(args.id), { action: 'cancel' }, args.json);
    const id = runId(args.id);
    const { runs } = connect();
    const asked = await runs.cancel(id, options);
    const { signal } = waitSignal(io, seconds);
    const run = await awaitCleanup(io, runs, asked, signal);
    if (args.json) io.printJson(run);
    else io.print(`${outcomeOf(run)}; ${cleanupOf(run)}`);
    if (run.state !== 'ended' || run.cleanup === 'pending') {
      return io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong;
    }
    return run.cleanup === 'unproved' ? EXIT.failed : EXIT.ok;
  },
});

/** Waits for the cleanup. @returns the latest state when the signal aborts first */
async function awaitCleanup(io: Io, runs: Runs, asked: Run, signal: AbortSignal): Promise<Run> {
  let latest = asked;
  const look = (run: Run) => {
    latest = run;
    io.noteForNow(io.paint('dim', `  ${stateOf(run)}, ${cleanupOf(run)} …`));
  };
  try {
    return await runs.ended(asked.id, { look, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    return latest;
  } finally {
    io.endNoteForNow();
  }
}

/** `mayfly function redrive`: idempotent; a repeat prints the same id. */
export const redriveCommand = customCommand({
  description: 'Have another run take the place of a dead letter, once, and print its id',
  args: { ...RUN_OR_ALL, ...VERSION, ...JSON_OPTION },
  async run({ io, args, connect }) {
    const version = versionOf(args.version ?? 'current');
    if (args.all) return actOnAll(io, functionName(args.id), { action: 'redrive', version }, args.json);
    const run = await connect().runs.redrive(runId(args.id), { version, signal: io.signal });
    if (args.json) io.printJson(run);
    else io.print(run.id);
    return EXIT.ok;
  },
});
