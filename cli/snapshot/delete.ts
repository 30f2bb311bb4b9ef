import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from './named.ts';
import { snapshotLines } from './snapshot-text.ts';

const ARGS = {
  id: { type: 'positional', description: SNAPSHOT, required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly snapshot delete`: says what its content is still needed for, when something refers to it. */
export function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a snapshot; what others refer to is freed with the last of them' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      snapshotIdOrName(args.id);
      const client = connect(io);
      const id = await findSnapshotId(client, args.id, io.signal);
      const snapshot = await client.snapshots.delete(id, options);
      if (args.json) io.printJson(snapshot);
      else for (const line of snapshotLines(io, snapshot)) io.print(line);
      const isGone = snapshot.state === 'deleted' || snapshot.state === 'failed';
      return isGone ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
