import { StopWatch } from '../../worker/stop-watch.ts';
import { EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';

/** For a command that runs until it is stopped: it ends in time, with `failed` when it had to be ended. */
export function watchStop(io: Io): StopWatch {
  return new StopWatch({
    signal: io.signal,
    say: (line) => io.note(line),
    end: () => process.exit(EXIT.failed),
    leave: () => process.exit(),
  });
}
