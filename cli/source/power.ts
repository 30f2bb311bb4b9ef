import { type ArgsDef, defineCommand } from 'citty';
import type { SourcePower } from '../../client/sources.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { withProgress } from '../terminal/progress.ts';
import { HOST_OPTION, onHost } from './host-option.ts';

const NAME = {
  name: { type: 'positional', description: 'Source (`mayfly source list`)', required: true },
} as const satisfies ArgsDef;
const START_ARGS = { ...NAME, ...HOST_OPTION, ...WAIT_OPTION, ...JSON_OPTION } as const satisfies ArgsDef;
const STOP_ARGS = {
  ...NAME,
  force: { type: 'boolean', description: 'Pull its power cord: what it has not written yet is lost' },
  ...HOST_OPTION,
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly source start`: done when its guest agent answers, or has not in time. */
export function startCommand(io: Io) {
  return defineCommand({
    meta: { name: 'start', description: 'Start a source that is shut off, unless something refers to its disks' },
    args: START_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, START_ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const { sources } = connect(io);
      const doing = `starting ${args.name}`;
      return shown(io, args.json, await withProgress(io, doing, () => sources.start(args.name, onHost(args), options)));
    },
  });
}

/** `mayfly source stop` */
export function stopCommand(io: Io) {
  return defineCommand({
    meta: { name: 'stop', description: 'Shut a source down; its guest has three minutes' },
    args: STOP_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, STOP_ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const { sources } = connect(io);
      const request = { ...onHost(args), ...(args.force && { force: true }) };
      const doing = `stopping ${args.name}`;
      return shown(io, args.json, await withProgress(io, doing, () => sources.stop(args.name, request, options)));
    },
  });
}

function shown(io: Io, isJson: boolean | undefined, power: SourcePower): number {
  const { name, hostId, state, guestAnswers } = power;
  if (isJson) io.printJson(power);
  else {
    io.print(`${io.paint('bold', printable(name))} on ${printable(hostId)}: ${state.replace('_', ' ')}`);
    if (guestAnswers === false) io.note('mayfly: its guest agent does not answer yet, which preparing needs');
    if (state === 'running' && guestAnswers === null) {
      io.note('mayfly: it has no channel for a guest agent, which preparing needs');
    }
  }
  return state === 'running' || state === 'shut_off' ? EXIT.ok : EXIT.waitedTooLong;
}
