import { command } from '../../terminal/command.ts';
import { RUN, runId } from '../input/names.ts';
import { runLines } from './run-text.ts';

/** `mayfly function run`: shows one, and starts none. */
export const runCommand = command({
  description: 'Show a run: how far it is, its attempts, and what it left',
  args: RUN,
  call: ({ args, connect, options }) => connect().runs.get(runId(args.id), options),
  print: runLines,
});
