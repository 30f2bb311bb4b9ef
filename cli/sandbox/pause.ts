import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { idOrName, positional } from '../terminal/arguments.ts';
import { command } from '../terminal/command.ts';
import { withProgress } from '../terminal/io.ts';
import { sandboxLines } from './sandbox-text.ts';

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

export const pauseCommand = switchCommand({ name: 'pause', goal: 'paused', doing: 'pausing' });

export const hibernateCommand = switchCommand({ name: 'hibernate', goal: 'hibernated', doing: 'hibernating' });

export const resumeCommand = switchCommand({ name: 'resume', goal: 'running', doing: 'resuming' });

function switchCommand({ name, goal, doing }: Switch) {
  return command({
    args: { id: positional('Id or name of a sandbox') },
    async call({ io, args, connect, options }) {
      const id = idOrName(args.id);
      return withProgress(io, `${doing} ${id}`, () => SWITCHES[name](connect(), id, options));
    },
    print: sandboxLines,
    isDone: (record) => record.state === goal,
  });
}
