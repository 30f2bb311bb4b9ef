import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { HOST_OPTION, onHost } from './host-option.ts';

const ARGS = {
  name: { type: 'positional', description: 'Source (`mayfly source list`)', required: true },
  path: { type: 'positional', description: 'Absolute path of a file or directory on it', required: true },
  ...HOST_OPTION,
} as const satisfies ArgsDef;

/** `mayfly source cat`: a file as it is, a directory as a list. */
export function catCommand(io: Io) {
  return defineCommand({
    meta: { name: 'cat', description: 'Print a file of a prepared source, or list a directory' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      if (!args.path.startsWith('/'))
        throw usageError('the path must be absolute', 'mayfly source cat web-1 /etc/hosts');
      const found = await connect(io).sources.read(args.name, args.path, { ...onHost(args), signal: io.signal });
      if (found.kind === 'file') {
        for await (const bytes of found.body) await io.write('stdout', bytes);
        return EXIT.ok;
      }
      const rows = found.items.map(({ mode, user, uid, size, mtime, name, type }) => {
        return [mode, user ?? String(uid), String(size), mtime, type === 'directory' ? `${name}/` : name];
      });
      for (const line of columns(['MODE', 'USER', 'BYTES', 'CHANGED', 'NAME'], rows)) io.print(line);
      return EXIT.ok;
    },
  });
}
