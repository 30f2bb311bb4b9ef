import { ChangeList } from '../../diff/change-list.ts';
import { growthOf, growthText } from '../../diff/change-text.ts';
import { command } from '../../terminal/command.ts';
import type { connect } from '../../terminal/connection.ts';
import type { Io } from '../../terminal/io.ts';
import { RUN, runId } from '../input/names.ts';

/** `mayfly run diff`: ends with 0 whether or not anything was changed. */
export const diffCommand = command({
  description: 'What the process of a run changed in its sandbox: mayfly run diff run-…',
  args: RUN,
  call: ({ args, connect, options }) => connect().runs.diff(runId(args.id), options),
  print: printChanges,
});

function printChanges(io: Io, lines: Awaited<ReturnType<ReturnType<typeof connect>['runs']['diff']>>): undefined {
  const shown = new ChangeList(io);
  let grown = 0;
  for (const line of lines) {
    if (line.line === 'change') {
      grown += growthOf(line);
      shown.add(line);
      continue;
    }
    shown.end();
    if (line.line !== 'end') continue;
    const { added, changed, removed, renamed } = line;
    const counts = `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed`;
    io.print([counts, growthText(grown)].filter(Boolean).join(', '));
  }
}
