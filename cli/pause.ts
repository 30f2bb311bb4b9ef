import { type ArgsDef, defineCommand } from 'citty';
import type { MayflyClient } from '../client/mayfly-client.ts';
import type { SandboxState } from '../model/sandbox/sandbox.ts';
import { sandboxLines } from './sandbox/sandbox-text.ts';
import { checkArguments, idOrName, JSON_OPTION, WAIT_OPTION, waitSeconds } from './terminal/arguments.ts';
import { connect } from './terminal/connection.ts';
import { EXIT } from './terminal/exit-codes.ts';
import type { Io } from './terminal/io.ts';
import { withProgress } from './terminal/progress.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

type Options = Parameters<MayflyClient['pauseSandbox']>[1];

interface Switch {
  name: 'pause' | 'hibernate' | 'resume';
  description: string;
  goal: SandboxState;
  doing: string;
}

const SWITCHES = {
  pause: (client: MayflyClient, id: string, options: Options) => client.pauseSandbox(id, options),
  hibernate: (client: MayflyClient, id: string, options: Options) => client.hibernateSandbox(id, options),
  resume: (client: MayflyClient, id: string, options: Options) => client.resumeSandbox(id, options),
};

/** `mayfly pause` */
export function pauseCommand(io: Io) {
  const description = 'Stop the processors of a sandbox; its memory is kept';
  return switchCommand(io, { name: 'pause', description, goal: 'paused', doing: 'pausing' });
}

/** `mayfly hibernate` */
export function hibernateCommand(io: Io) {
  const description = "Put a sandbox's memory on its host's disk, and give its room in memory back";
  return switchCommand(io, { name: 'hibernate', description, goal: 'hibernated', doing: 'hibernating' });
}

/** `mayfly resume` */
export function resumeCommand(io: Io) {
  const description = 'Let a paused or hibernated sandbox go on';
  return switchCommand(io, { name: 'resume', description, goal: 'running', doing: 'resuming' });
}

function switchCommand(io: Io, { name, description, goal, doing }: Switch) {
  return defineCommand({
    meta: { name, description },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = idOrName(args.id);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const record = await withProgress(io, `${doing} ${id}`, () => SWITCHES[name](connect(io), id, options));
      if (args.json) io.printJson(record);
      else for (const line of sandboxLines(io, record)) io.print(line);
      return record.state === goal ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
