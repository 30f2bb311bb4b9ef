import type { Run } from '../../../clients/typescript/http/openapi.ts';
import type { Runs } from '../../../clients/typescript/runs.ts';
import { waitSignal } from '../../sandbox/follow.ts';
import { JSON_OPTION, WAIT_OPTION, waitSeconds } from '../../terminal/arguments.ts';
import { customCommand } from '../../terminal/command.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { functionName, RUN_OR_ALL, runId } from '../input/names.ts';
import { actOnAll } from './bulk.ts';
import { cleanupOf, outcomeOf, stateOf } from './run-text.ts';

/** `mayfly function cancel`: done when it is over, and nothing of it is left. */
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
    const run = await untilClean(io, runs, asked, signal);
    if (args.json) io.printJson(run);
    else io.print(`${outcomeOf(run)}; ${cleanupOf(run)}`);
    if (run.state !== 'ended' || run.cleanup === 'pending') {
      return io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong;
    }
    return run.cleanup === 'unproved' ? EXIT.failed : EXIT.ok;
  },
});

/** The latest that was heard of it, when the wait is over first. */
async function untilClean(io: Io, runs: Runs, asked: Run, signal: AbortSignal): Promise<Run> {
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
