import { positional } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { columns } from '../terminal/columns.ts';
import { customCommand } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { HOST_OPTION, onHost } from './host-option.ts';

/** `mayfly source cat`: a file as it is, a directory as a list. */
export const catCommand = customCommand({
  description: 'Print a file of a prepared source, or list a directory',
  args: {
    name: positional('Source (`mayfly source list`)'),
    path: positional('Absolute path of a file or directory on it'),
    ...HOST_OPTION,
  },
  async run({ io, args, connect }) {
    if (!args.path.startsWith('/')) throw usageError('the path must be absolute', 'mayfly source cat web-1 /etc/hosts');
    const found = await connect().sources.read(args.name, args.path, { ...onHost(args), signal: io.signal });
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
