import { type ArgsDef, defineCommand } from 'citty';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { withProgress } from '../terminal/progress.ts';
import { accessLines } from './access-text.ts';
import { HOST_OPTION, onHost } from './host-option.ts';

const ARGS = {
  name: { type: 'positional', description: 'Source (`mayfly source list`)', required: true },
  ...HOST_OPTION,
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly source prepare`: so that it can be looked at; says what was changed. */
export function prepareCommand(io: Io) {
  const description = 'Make a running source one that can be looked at; changes it, and can be taken back';
  return taskCommand(io, 'prepare', description, 'prepared');
}

/** `mayfly source unprepare` */
export function unprepareCommand(io: Io) {
  return taskCommand(io, 'unprepare', 'Take back all that `prepare` changed on a source', 'unprepared');
}

function taskCommand(io: Io, task: 'prepare' | 'unprepare', description: string, goal: SourceAccess['state']) {
  return defineCommand({
    meta: { name: task, description },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const { sources } = connect(io);
      const doing = `${task === 'prepare' ? 'preparing' : 'unpreparing'} ${args.name}`;
      const record = await withProgress(io, doing, () => sources[task](args.name, onHost(args), options));
      if (args.json) io.printJson(record);
      else for (const line of accessLines(io, record)) io.print(line);
      return record.state === goal ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
