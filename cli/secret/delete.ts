import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { NAME, secretName } from './names.ts';

const ARGS = { ...NAME, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly secret delete` */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a secret: runs whose function names it are not started any more' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = secretName(args.name);
      await connect(io).secrets.delete(name, { signal: io.signal });
      if (args.json) io.printJson({ name, state: 'deleted' });
      else io.print(`${name} is deleted`);
      return EXIT.ok;
    },
  });
}
