import { type ArgsDef, defineCommand } from 'citty';
import { stateCommand } from '../function/state-command.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { NAME, OVERLAP, overlapOf, scheduleName } from './names.ts';

const ARGS = { ...NAME, ...JSON_OPTION } as const satisfies ArgsDef;
const TRIGGER_ARGS = { ...NAME, ...OVERLAP, ...JSON_OPTION } as const satisfies ArgsDef;
const BACKFILL_ARGS = {
  ...NAME,
  from: { type: 'string', valueHint: 'time', description: 'Such as 2026-03-28T00:00:00Z', required: true },
  to: { type: 'string', valueHint: 'time', description: 'Not in the future', required: true },
  ...OVERLAP,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly schedule pause` */
export function pauseCommand(io: Io) {
  return command(io, 'pause', 'Have a schedule fire no more until it is resumed');
}

/** `mayfly schedule resume` */
export function resumeCommand(io: Io) {
  return command(io, 'resume', 'Have a schedule fire again');
}

function command(io: Io, act: 'pause' | 'resume', description: string) {
  return stateCommand(io, {
    act,
    description,
    named: NAME,
    change: (name) => connect(io).schedules[act](scheduleName(name), { signal: io.signal }),
    said: ({ name, pausedAt }) => `${name} ${pausedAt === null ? 'fires again' : 'is paused'}`,
  });
}

/** `mayfly schedule delete` */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a schedule; what it has begun goes on' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = scheduleName(args.name);
      await connect(io).schedules.delete(name, { signal: io.signal });
      if (args.json) io.printJson({ name, state: 'deleted' });
      else io.print(`${name} is deleted`);
      return EXIT.ok;
    },
  });
}

/** `mayfly schedule trigger` */
export function triggerCommand(io: Io) {
  return defineCommand({
    meta: { name: 'trigger', description: 'Have a schedule fire now' },
    args: TRIGGER_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, TRIGGER_ARGS);
      const name = scheduleName(args.name);
      const asked = await connect(io).schedules.trigger(name, overlapOf(args.overlap), { signal: io.signal });
      if (args.json) io.printJson(asked);
      else io.print(`${name} fires; \`mayfly schedule times ${name}\` has its run`);
      return EXIT.ok;
    },
  });
}

/** `mayfly schedule backfill` */
export function backfillCommand(io: Io) {
  return defineCommand({
    meta: { name: 'backfill', description: 'Have times of the past run that were not' },
    args: BACKFILL_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, BACKFILL_ARGS);
      const name = scheduleName(args.name);
      const range = { from: args.from, to: args.to, ...overlapOf(args.overlap) };
      const asked = await connect(io).schedules.backfill(name, range, { signal: io.signal });
      if (args.json) io.printJson(asked);
      else io.print(`${name} runs them; \`mayfly schedule times ${name}\` has their runs`);
      return EXIT.ok;
    },
  });
}
