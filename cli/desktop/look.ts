import { defineCommand } from 'citty';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { ACT_ARGS } from './act.ts';

/** `mayfly desktop windows` */
export function lookCommand(io: Io) {
  return defineCommand({
    meta: { name: 'windows', description: 'Show the windows, the pointer and the size of the screen' },
    args: ACT_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ACT_ARGS);
      const state = await connect(io).desktop.look(idOrName(args.id), { signal: io.signal });
      if (args.json) {
        io.printJson(state);
        return EXIT.ok;
      }
      const { width, height, pointer, windows } = state;
      io.note(`screen ${width}x${height}, pointer at ${pointer.x},${pointer.y}`);
      const rows = windows.map((one) => [
        one.id,
        `${one.x},${one.y}`,
        `${one.width}x${one.height}`,
        one.isActive ? 'yes' : '',
        one.class,
        one.title,
      ]);
      for (const line of columns(['ID', 'AT', 'SIZE', 'ACTIVE', 'CLASS', 'TITLE'], rows)) io.print(line);
      return EXIT.ok;
    },
  });
}
