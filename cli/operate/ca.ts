import { type ArgsDef, defineCommand } from 'citty';
import { readConfig } from '../../worker/config/config.ts';
import type { CaState, RotationResult, RotationStep } from '../../worker/upkeep/ca.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

const ROTATE = {
  begin: { type: 'boolean', description: '1: make the next key; every guest comes to trust both', default: false },
  finish: { type: 'boolean', description: '2: sign with the next key; the previous is still trusted', default: false },
  forget: { type: 'boolean', description: '3: no guest trusts the previous key any more', default: false },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

const NEXT: Record<CaState['stage'], string> = {
  none: 'no rotation is under way',
  begun: 'next: `mayfly ca rotate --finish`, when every guest trusts both',
  finished: 'next: `mayfly ca rotate --forget`, when no certificate of the previous key is needed (an hour at most)',
};

/** `mayfly ca show|rotate`: needs the CA's folder, so it runs where the control worker does. */
export function caCommand(io: Io) {
  const show = defineCommand({
    meta: { name: 'show', description: 'Show the keys of the user CA' },
    args: JSON_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, JSON_OPTION);
      const { showCa } = await import('../../worker/upkeep/ca.ts');
      const state = await showCa(readConfig(io.env));
      if (args.json) io.printJson(state);
      else printState(io, state);
      return EXIT.ok;
    },
  });
  const rotate = defineCommand({
    meta: {
      name: 'rotate',
      description: 'Move the user CA to a new key, in three steps without a window of no access',
    },
    args: ROTATE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ROTATE);
      const step = stepFrom(args);
      const seconds = waitSeconds(args.wait);
      const { rotateCa } = await import('../../worker/upkeep/ca.ts');
      const result = await rotateCa(readConfig(io.env), step, { waitSeconds: seconds, signal: io.signal });
      if (args.json) io.printJson(result);
      else printResult(io, step, result);
      return result.waiting.length > 0 ? EXIT.waitedTooLong : EXIT.ok;
    },
  });
  return defineCommand({
    subCommands: { show, rotate },
  });
}

function stepFrom(args: Record<RotationStep, boolean>): RotationStep {
  const [step, ...others] = (['begin', 'finish', 'forget'] as const).filter((name) => args[name]);
  if (step && others.length === 0) return step;
  throw usageError('give one of --begin, --finish, --forget', 'docs/operations.md has the steps.');
}

function printState(io: Io, { stage, signing, next, previous }: CaState): void {
  io.print(`signs     ${signing}`);
  if (next) io.print(`next      ${next}`);
  if (previous) io.print(`previous  ${previous}`);
  io.note(NEXT[stage]);
}

function printResult(io: Io, step: RotationStep, result: RotationResult): void {
  const { told, waiting } = result;
  io.note(`${told.length} sandboxes and sources trust what they should`);
  for (const id of waiting) io.note(`${id} was not reached; its guest is told as soon as it answers`);
  if (waiting.length > 0) io.note(`run \`mayfly ca rotate --${step}\` again: it is over when every guest was reached`);
  printState(io, result);
}
