import { idOrName, JSON_OPTION, positional } from '../terminal/arguments.ts';
import { customCommand } from '../terminal/command.ts';
import { StepPrinter } from './follow.ts';
import { sandboxLines, usageLine } from './sandbox-text.ts';

/** `mayfly sandbox get`: the record, with its steps on stderr. */
export const getCommand = customCommand({
  description: 'Show a sandbox',
  args: { id: positional('Id or name of a sandbox'), ...JSON_OPTION },
  async run({ io, args, connect, options }) {
    const named = idOrName(args.id);
    const client = connect();
    const record = await client.getSandbox(named, options);
    if (args.json) {
      io.printJson(record);
      return;
    }
    const usage = await client.sandboxUsage(record.id, options);
    for (const line of [...sandboxLines(io, record), usageLine(usage)]) io.print(line);
    new StepPrinter(io).show(record);
  },
});
