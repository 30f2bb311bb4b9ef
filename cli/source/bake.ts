import { type ArgsDef, defineCommand } from 'citty';
import { findSnapshotId, SNAPSHOT, snapshotIdOrName } from '../snapshot/named.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { bakedLines } from './baked-text.ts';

const ARGS = {
  name: { type: 'positional', description: 'What it shall be called', required: true },
  from: { type: 'string', valueHint: 'snapshot', description: SNAPSHOT, required: true },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly source bake`: done when sandboxes can be made of it. */
export function bakeCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'bake',
      description: 'Make a source of a snapshot, cleaned of its identity and referring to nothing',
    },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      snapshotIdOrName(args.from);
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const client = connect(io);
      const fromSnapshot = await findSnapshotId(client, args.from, io.signal);
      const baked = await client.sources.bake({ name: args.name, fromSnapshot }, options);
      if (args.json) io.printJson(baked);
      else for (const line of bakedLines(io, baked)) io.print(line);
      return baked.state === 'baking' ? EXIT.waitedTooLong : EXIT.ok;
    },
  });
}
