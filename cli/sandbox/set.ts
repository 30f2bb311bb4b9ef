import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { IDLE_ACTIONS } from '../../model/sandbox/sandbox.ts';
import { checkArguments, idOrName, JSON_OPTION } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { seconds } from '../terminal/quantities.ts';
import { sandboxLines } from './sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  ttl: { type: 'string', valueHint: '1h', description: 'From now to its new end, such as 90s or 1h30m' },
  idle: { type: 'string', valueHint: '15m|off', description: 'How long it may be unused until it ends' },
  'on-idle': { type: 'enum', options: [...IDLE_ACTIONS], description: 'What is done then' },
  'auto-resume': {
    type: 'enum',
    options: ['on', 'off'],
    description: 'Resume it when it is used while paused or hibernated',
  },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

function idleFrom(text: string): number | null {
  return text === 'off' ? null : seconds('idle', text, LIMITS.idleSeconds);
}

/** `mayfly sandbox set`, also called `extend`: moves the end of a sandbox, or says whether it is resumed by being used. */
export function setCommand(io: Io, name: 'set' | 'extend') {
  return defineCommand({
    meta: {
      name,
      description: name === 'set' ? 'Change when a sandbox ends, and whether use resumes it' : 'The same as set',
    },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = idOrName(args.id);
      const autoResume = args['auto-resume'];
      const onIdle = args['on-idle'];
      if (!args.ttl && !args.idle && !onIdle && !autoResume)
        throw usageError('give --ttl, --idle, --on-idle or --auto-resume');
      const change = {
        ...(args.ttl && { ttlSeconds: seconds('ttl', args.ttl, LIMITS.ttlSeconds) }),
        ...(args.idle && { idleSeconds: idleFrom(args.idle) }),
        ...(onIdle && { onIdle }),
        ...(autoResume && { autoResume: autoResume === 'on' }),
      };
      const record = await connect(io).extendSandbox(id, change, { signal: io.signal });
      if (args.json) io.printJson(record);
      else for (const line of sandboxLines(io, record)) io.print(line);
      return EXIT.ok;
    },
  });
}
