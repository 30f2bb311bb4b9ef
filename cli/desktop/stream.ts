import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { ACT_ARGS } from './act.ts';

const ARGS = {
  ...ACT_ARGS,
  control: { type: 'boolean', description: 'Whoever sees it may use it too', default: false },
} as const satisfies ArgsDef;

/** `mayfly desktop stream` */
export function streamCommand(io: Io) {
  return defineCommand({
    meta: { name: 'stream', description: 'A password with which the screen is seen in a browser' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = idOrName(args.id);
      const stream = await connect(io).desktop.stream(id, args.control ? 'control' : 'view', { signal: io.signal });
      if (args.json) {
        io.printJson(stream);
        return EXIT.ok;
      }
      const { port, path, password } = stream;
      io.print(`password  ${password}`);
      io.print(`browser   http://127.0.0.1:${port}${path}`);
      io.note(`while \`mayfly port forward ${id} ${port}\` runs`);
      return EXIT.ok;
    },
  });
}
