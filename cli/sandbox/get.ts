import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, idOrName, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { StepPrinter } from './follow.ts';
import { sandboxLines, usageLine } from './sandbox-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly sandbox get`: the record, with its steps on stderr. */
export function getCommand(io: Io) {
  return defineCommand({
    meta: { name: 'get', description: 'Show a sandbox' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const named = idOrName(args.id);
      const client = connect(io);
      const record = await client.getSandbox(named, { signal: io.signal });
      if (args.json) {
        io.printJson(record);
      } else {
        const usage = await client.sandboxUsage(record.id, { signal: io.signal });
        for (const line of [...sandboxLines(io, record), usageLine(usage)]) io.print(line);
        new StepPrinter(io).show(record);
      }
      return EXIT.ok;
    },
  });
}
