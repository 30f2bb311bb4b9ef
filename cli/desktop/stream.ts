import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { seconds } from '../terminal/quantities.ts';
import { ACT_ARGS } from './act.ts';

const ARGS = {
  ...ACT_ARGS,
  ttl: { type: 'string', valueHint: 'duration', description: 'How long the URL is good', default: '1h' },
  control: { type: 'boolean', description: 'Whoever sees it may use it too', default: false },
} as const satisfies ArgsDef;

/** `mayfly desktop stream` */
export function streamCommand(io: Io) {
  return defineCommand({
    meta: { name: 'stream', description: 'A URL and a password with which the screen is seen in a browser' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = idOrName(args.id);
      const wish = {
        mode: args.control ? ('control' as const) : ('view' as const),
        ttlSeconds: seconds('ttl', args.ttl, LIMITS.ports.tokenSeconds),
      };
      const stream = await connect(io).desktop.stream(id, wish, { signal: io.signal });
      if (args.json) {
        io.printJson(stream);
        return EXIT.ok;
      }
      io.print(`browser   ${stream.url}`);
      io.print(`password  ${stream.password}`);
      const may = args.control ? 'uses' : 'sees';
      io.note(`good until ${stream.expiresAt}; whoever has both ${may} the screen`);
      return EXIT.ok;
    },
  });
}
