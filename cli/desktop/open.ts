import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { ACT_ARGS, ID } from './act.ts';

const ARGS = {
  id: ID,
  what: { type: 'positional', description: 'An address (https://…), or a program and its arguments' },
  json: ACT_ARGS.json,
} as const satisfies ArgsDef;

/** `mayfly desktop open` */
export function openCommand(io: Io) {
  return defineCommand({
    meta: { name: 'open', description: 'Open an address in the browser, or start a program, which stays' },
    args: ARGS,
    async run({ args, rawArgs }) {
      const words = checkArguments(rawArgs, ARGS, ['what']).get('what') ?? [];
      const [first] = words;
      if (first === undefined) throw usageError('say what to open', 'An address, or a program and its arguments.');
      const isAddress = words.length === 1 && /^(?:https?|file):\/\//.test(first);
      const what = isAddress ? { url: first } : { argv: words };
      const command = await connect(io).desktop.open(idOrName(args.id), what, { signal: io.signal });
      if (args.json) io.printJson(command);
      return command.exitCode === 0 || command.exitCode === null ? EXIT.ok : EXIT.failed;
    },
  });
}
