import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, JSON_OPTION, sandboxId, wholeNumber } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { sandboxLines } from './sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Sandbox id', required: true },
  ttl: { type: 'string', valueHint: 'seconds', description: 'Seconds from now to its new end' },
  idle: { type: 'string', valueHint: 'seconds|off', description: 'Seconds without use until it ends' },
  'auto-resume': {
    type: 'enum',
    options: ['on', 'off'],
    description: 'Resume it when it is used while paused or hibernated',
  },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

function idleFrom(text: string): number | null {
  return text === 'off' ? null : wholeNumber('idle', text, LIMITS.idleSeconds.min, LIMITS.idleSeconds.max);
}

/** `mayfly sandbox extend`: moves the end of a sandbox, or says whether it is resumed by being used. */
export function extendCommand(io: Io) {
  return defineCommand({
    meta: { name: 'extend', description: 'Give a sandbox more (or less) time' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = sandboxId(args.id);
      const autoResume = args['auto-resume'];
      if (!args.ttl && !args.idle && !autoResume) throw usageError('give --ttl, --idle or --auto-resume');
      const { min, max } = LIMITS.ttlSeconds;
      const change = {
        ...(args.ttl && { ttlSeconds: wholeNumber('ttl', args.ttl, min, max) }),
        ...(args.idle && { idleSeconds: idleFrom(args.idle) }),
        ...(autoResume && { autoResume: autoResume === 'on' }),
      };
      const record = await connect(io).extendSandbox(id, change, { signal: io.signal });
      if (args.json) io.printJson(record);
      else for (const line of sandboxLines(io, record)) io.print(line);
      return EXIT.ok;
    },
  });
}
