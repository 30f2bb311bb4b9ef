import { type ArgsDef, defineCommand } from 'citty';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import type { SandboxState } from '../../model/sandbox/sandbox.ts';
import { checkArguments, idOrName, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { withProgress } from '../terminal/progress.ts';
import { sandboxLines } from './sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

type Options = Parameters<MayflyClient['pauseSandbox']>[1];

interface Switch {
  name: 'pause' | 'hibernate' | 'resume';
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
  return switchCommand(io, { name: 'pause', goal: 'paused', doing: 'pausing' });
}

/** `mayfly hibernate` */
export function hibernateCommand(io: Io) {
  return switchCommand(io, { name: 'hibernate', goal: 'hibernated', doing: 'hibernating' });
}

/** `mayfly resume` */
export function resumeCommand(io: Io) {
  return switchCommand(io, { name: 'resume', goal: 'running', doing: 'resuming' });
}

function switchCommand(io: Io, { name, goal, doing }: Switch) {
  return defineCommand({
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
