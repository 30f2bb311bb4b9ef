import { readConfig } from '../../worker/config/config.ts';
import type { CaState, RotationResult, RotationStep } from '../../worker/upkeep/ca.ts';
import { flag } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command, nounCommand } from '../terminal/command.ts';
import type { Io } from '../terminal/io.ts';

const ROTATE = {
  begin: flag('1: make the next key; every guest comes to trust both'),
  finish: flag('2: sign with the next key; the previous is still trusted'),
  forget: flag('3: no guest trusts the previous key any more'),
};

const NEXT: Record<CaState['stage'], string> = {
  none: 'no rotation is under way',
  begun: 'next: `mayfly ca rotate --finish`, when every guest trusts both',
  finished: 'next: `mayfly ca rotate --forget`, when no certificate of the previous key is needed (an hour at most)',
};

const showCommand = command({
  description: 'Show the keys of the user CA',
  async call({ io }) {
    const { showCa } = await import('../../worker/upkeep/ca.ts');
    return showCa(readConfig(io.env));
  },
  print: printState,
});

const rotateCommand = command({
  description: 'Move the user CA to a new key, in three steps without a window of no access',
  args: ROTATE,
  async call({ io, args, options: { signal, waitSeconds = 0 } }) {
    const step = stepFrom(args);
    const { rotateCa } = await import('../../worker/upkeep/ca.ts');
    return rotateCa(readConfig(io.env), step, { waitSeconds, signal });
  },
  print: (io, result, args) => printResult(io, stepFrom(args), result),
  isDone: ({ waiting }) => waiting.length === 0,
});

/** `mayfly ca get|rotate`: needs the CA's folder on the control worker's machine. */
export const caCommand = nounCommand({ get: showCommand, rotate: rotateCommand });

function stepFrom(args: Record<RotationStep, boolean>): RotationStep {
  const [step, ...others] = (['begin', 'finish', 'forget'] as const).filter((name) => args[name]);
  if (step && others.length === 0) return step;
  throw usageError('give one of --begin, --finish, --forget', 'docs/backup-upgrade.md has the steps.');
}

function printState(io: Io, { stage, signing, next, previous }: CaState): undefined {
  io.print(`signs     ${signing}`);
  if (next) io.print(`next      ${next}`);
  if (previous) io.print(`previous  ${previous}`);
  io.note(NEXT[stage]);
}

function printResult(io: Io, step: RotationStep, result: RotationResult): undefined {
  const { told, waiting } = result;
  io.note(`${told.length} sandboxes and sources trust what they should`);
  for (const id of waiting) io.note(`${id} was not reached; its guest is told as soon as it answers`);
  if (waiting.length > 0) io.note(`run \`mayfly ca rotate --${step}\` again: it is over when every guest was reached`);
  printState(io, result);
}
