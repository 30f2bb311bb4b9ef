import type { BatchItem } from '../../../clients/typescript/run-options.ts';
import { command } from '../../terminal/command.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import { printable } from '../../terminal/printable.ts';
import { jsonOf } from '../input/event-data.ts';
import { functionName, NAME } from '../input/names.ts';

/** `mayfly function batch`: done when each event is stored or refused. */
export const batchCommand = command({
  description: 'Have a function run for each CloudEvent of a list, and print what became of each',
  args: {
    ...NAME,
    file: {
      type: 'string',
      valueHint: 'path',
      description: 'A file with a JSON list of up to 1,000 CloudEvents; - for standard input',
      default: '-',
    },
  },
  async call({ args, connect, options }) {
    const name = functionName(args.name);
    const items = await connect().runs.createBatch(name, await jsonOf({ path: args.file }), options);
    return { items };
  },
  print(io, { items }) {
    for (const item of items) io.print(printable(lineOf(item)));
  },
  exit: ({ items }) => (items.every((item) => 'runId' in item) ? EXIT.ok : EXIT.failed),
});

function lineOf(item: BatchItem): string {
  if ('runId' in item) return item.isNew ? item.runId : `${item.runId} known`;
  const { code, detail } = item.problem;
  return `refused: ${detail} (${code})`;
}
