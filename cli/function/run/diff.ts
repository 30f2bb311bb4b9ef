import { type ArgsDef, defineCommand } from 'citty';
import { ChangeList } from '../../diff/change-list.ts';
import { growthOf, growthText } from '../../diff/change-text.ts';
import { checkArguments, JSON_OPTION } from '../../terminal/arguments.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { RUN, runId } from '../input/names.ts';

const ARGS = { ...RUN, ...JSON_OPTION } as const satisfies ArgsDef;

/** `mayfly run diff`: ends with 0 whether or not anything was changed. */
export function diffCommand(io: Io) {
  return defineCommand({
    meta: { name: 'diff', description: 'What the process of a run changed in its sandbox: mayfly run diff run-…' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const lines = await connect(io).runs.diff(runId(args.id), { signal: io.signal });
      if (args.json) io.printJson(lines);
      else print(io, lines);
      return EXIT.ok;
    },
  });
}

function print(io: Io, lines: Awaited<ReturnType<ReturnType<typeof connect>['runs']['diff']>>): void {
  const shown = new ChangeList(io);
  let grown = 0;
  for (const line of lines) {
    if (line.line === 'change') {
      grown += growthOf(line);
      shown.add(line);
      continue;
    }
    shown.end();
    const { added, changed, removed, renamed } = line;
    const counts = `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed`;
    io.print([counts, growthText(grown)].filter(Boolean).join(', '));
  }
}
