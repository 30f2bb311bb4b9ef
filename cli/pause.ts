import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, sandboxId, WAIT_OPTION, waitSeconds } from './arguments.ts';
import { connect } from './connection.ts';
import { EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { sandboxLines } from './sandbox/sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Sandbox id', required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly pause` */
export function pauseCommand(io: Io) {
  const description = 'Stop the processors of a sandbox; its memory is kept';
  return switchCommand(io, { name: 'pause', description, goal: 'paused' });
}

/** `mayfly resume` */
export function resumeCommand(io: Io) {
  return switchCommand(io, { name: 'resume', description: 'Let a paused sandbox go on', goal: 'running' });
}

function switchCommand(
  io: Io,
  { name, description, goal }: { name: 'pause' | 'resume'; description: string; goal: 'paused' | 'running' },
) {
  return defineCommand({
    meta: { name, description },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = sandboxId(args.id);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const client = connect(io);
      const record =
        name === 'pause' ? await client.pauseSandbox(id, options) : await client.resumeSandbox(id, options);
      if (args.json) io.printJson(record);
      else for (const line of sandboxLines(io, record)) io.print(line);
      return record.state === goal ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
