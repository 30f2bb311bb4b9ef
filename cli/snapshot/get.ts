import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from './named.ts';
import { snapshotLines } from './snapshot-text.ts';

const ARGS = {
  id: { type: 'positional', description: SNAPSHOT, required: true },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly snapshot get` */
export function getCommand(io: Io) {
  return defineCommand({
    meta: { name: 'get', description: 'Show a snapshot' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      snapshotIdOrName(args.id);
      const client = connect(io);
      const { signal } = io;
      const snapshot = await client.snapshots.get(await findSnapshotId(client, args.id, signal), { signal });
      if (args.json) io.printJson(snapshot);
      else for (const line of snapshotLines(io, snapshot)) io.print(line);
      return EXIT.ok;
    },
  });
}
