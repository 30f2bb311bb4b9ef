import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { functionName, NAME } from './run/names.ts';

const ARGS = { ...NAME, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly function pause` */
export function pauseCommand(io: Io) {
  return stateCommand(io, 'pause', 'Start no run of a function; its events are accepted all the same');
}

/** `mayfly function resume` */
export function resumeCommand(io: Io) {
  return stateCommand(io, 'resume', 'Start the runs of a function again');
}

function stateCommand(io: Io, act: 'pause' | 'resume', description: string) {
  return defineCommand({
    meta: { name: act, description },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const changed = await connect(io).functions[act](functionName(args.name), { signal: io.signal });
      if (args.json) io.printJson(changed);
      else io.print(`${changed.name} is ${changed.state}`);
      return EXIT.ok;
    },
  });
}
