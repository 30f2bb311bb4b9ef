import { once } from 'node:events';
import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Run } from '../../clients/typescript/http/openapi.ts';
import type { Runs } from '../../clients/typescript/runs.ts';
import { customCommand } from '../terminal/command.ts';
import { connect } from '../terminal/connection.ts';
import type { Io } from '../terminal/io.ts';
import { reportError } from '../terminal/report-error.ts';
import { deployFolder } from './deploy.ts';
import { EVENT_ARGS, readEvent, storeEvent } from './input/event-data.ts';
import { manifestOf } from './manifest.ts';
import { printEndOfStderr } from './run/open.ts';
import { outcomeOf } from './run/run-text.ts';

const { data, file, type } = EVENT_ARGS;
/** Debounce of changes, ms: an editor writes several files, each several times. */
const SETTLES_MS = 200;

type EventOptions = Pick<Parameters<typeof readEvent>[0], 'data' | 'file' | 'type'>;

/** `mayfly dev`: runs until Ctrl-C. A change during a run cancels it, and starts a new one. */
export const devCommand = customCommand({
  args: {
    folder: { type: 'positional', description: 'Folder with a mayfly.json', required: false, default: '.' },
    data,
    file,
    type,
  },
  async run({ io, args }) {
    await manifestOf(args.folder);
    const watcher = watch(args.folder, { recursive: true });
    try {
      for (let isFirst = true; ; isFirst = false) {
        const change = nextChange(watcher, io.signal);
        change.catch(() => {}); // awaited below, once the run is cancelled
        await deployAndRun(io, args.folder, args, change, isFirst);
        await change;
      }
    } finally {
      watcher.close();
    }
  },
});

/** Deploys and runs the function. Reports errors, so that the next change can fix them. */
async function deployAndRun(io: Io, folder: string, args: EventOptions, change: Promise<void>, isFirst: boolean) {
  try {
    const { version, isNew } = await deployFolder(io, folder);
    if (!isNew && !isFirst) return;
    io.note(`${version.function} version ${version.version}`);
    const { runs } = connect(io);
    const { id } = await storeEvent(io, runs, version.function, await readEvent(args), {}); // a started run can be cancelled
    const run = await awaitEndOrChange(runs, id, change);
    if (run.result) await io.write('stdout', (await runs.result(id, { signal: io.signal })).bytes);
    if (run.outcome !== 'succeeded') await printEndOfStderr(io, runs, run);
    io.note(`${outcomeOf(run)}. Ctrl-C ends it, a change of ${folder} runs it again.`);
  } catch (error) {
    if (io.signal.aborted) throw error;
    reportError(io, error, { json: false, command: 'mayfly dev' });
  }
}

/** Waits for the run, and cancels it when the folder changes or the wait ends. */
async function awaitEndOrChange(runs: Runs, id: string, change: Promise<void>): Promise<Run> {
  let hasEnded = false;
  const cancel = async () => {
    if (!hasEnded) await runs.cancel(id);
  };
  const ended = runs.ended(id, { until: 'ended' });
  ended.then(
    () => (hasEnded = true),
    () => (hasEnded = true),
  );
  await Promise.race([ended, change.then(cancel, cancel)]);
  return ended;
}

/** Waits for a change and the writes that follow it. @throws AbortError when the signal is aborted */
async function nextChange(watcher: FSWatcher, signal: AbortSignal): Promise<void> {
  await once(watcher, 'change', { signal });
  await pause(SETTLES_MS, undefined, { signal });
}
