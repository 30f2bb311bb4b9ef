import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, snapshotId } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { snapshotLines } from './snapshot-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Snapshot id', required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly snapshot get` */
export function getCommand(io: Io) {
  return defineCommand({
    meta: { name: 'get', description: 'Show a snapshot' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const snapshot = await connect(io).snapshots.get(snapshotId(args.id), { signal: io.signal });
      if (args.json) io.printJson(snapshot);
      else for (const line of snapshotLines(io, snapshot)) io.print(line);
      return EXIT.ok;
    },
  });
}
