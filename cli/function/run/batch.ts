import { type ArgsDef, defineCommand } from 'citty';
import type { BatchItem } from '../../../client/run-shapes.ts';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { printable } from '../../terminal/printable.ts';
import { jsonOf } from '../input/event-data.ts';
import { functionName, NAME } from '../input/names.ts';

const ARGS = {
  ...NAME,
  file: {
    type: 'string',
    valueHint: 'path',
    description: 'A file with a JSON list of up to 1,000 CloudEvents; - for standard input',
    default: '-',
  },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly function batch`: done when each event is stored or refused. */
export function batchCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'batch',
      description: 'Have a function run for each CloudEvent of a list, and print what became of each',
    },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const name = functionName(args.name);
      const items = await connect(io).runs.createBatch(name, await jsonOf({ path: args.file }), { signal: io.signal });
      if (args.json) io.printJson({ items });
      else for (const item of items) io.print(printable(lineOf(item)));
      return items.every((item) => 'runId' in item) ? EXIT.ok : EXIT.failed;
    },
  });
}

function lineOf(item: BatchItem): string {
  if ('runId' in item) return item.isNew ? item.runId : `${item.runId} known`;
  const { code, detail = '' } = item.problem;
  return `refused: ${detail} (${code})`;
}
