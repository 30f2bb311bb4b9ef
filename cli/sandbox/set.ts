import { LIMITS } from '../../model/limits.ts';
import { idleAction } from '../../model/sandbox/sandbox.ts';
import { idOrName, option, positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { seconds } from '../terminal/quantities.ts';
import { sandboxLines } from './sandbox-text.ts';

function idleFrom(text: string): number | null {
  return text === 'off' ? null : seconds('idle', text, LIMITS.idleSeconds);
}

/** `mayfly sandbox update`, also called `set` and `extend`: moves the end of a sandbox, or says whether it is resumed by being used. */
export const setCommand = command({
  description: 'Change when a sandbox ends, and whether use resumes it',
  args: {
    id: positional('Id or name of a sandbox'),
    ttl: option('From now to its new end, such as 90s or 1h30m', '1h'),
    idle: option('How long it may be unused until it ends', '15m|off'),
    'on-idle': { type: 'enum', options: [...idleAction.options], description: 'What is done then' },
    'auto-resume': {
      type: 'enum',
      options: ['on', 'off'],
      description: 'Resume it when it is used while paused or hibernated',
    },
  },
  async call({ args, connect, options }) {
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
    return connect().extendSandbox(id, change, options);
  },
  print: sandboxLines,
});
