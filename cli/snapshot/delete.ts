import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, JSON_OPTION, snapshotId, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { snapshotLines } from './snapshot-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Snapshot id', required: true },
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
      const snapshot = await connect(io).snapshots.delete(snapshotId(args.id), options);
      if (args.json) io.printJson(snapshot);
      else for (const line of snapshotLines(io, snapshot)) io.print(line);
      const isGone = snapshot.state === 'deleted' || snapshot.state === 'failed';
      return isGone ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
