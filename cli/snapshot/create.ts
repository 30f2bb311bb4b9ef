import { type ArgsDef, defineCommand } from 'citty';
import { checkArguments, idOrName, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT, exitCodeOfCode } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { OperationWatch } from './follow-operation.ts';
import { snapshotLines } from './snapshot-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Id or name of a sandbox', required: true },
  name: { type: 'string', description: 'Unique in the sandbox (default: the id of the snapshot)' },
  full: { type: 'boolean', description: 'With the memory: processes come back as they were', default: false },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly snapshot create`: done when it was saved and checked. */
export function createCommand(io: Io) {
  return defineCommand({
    meta: { name: 'create', description: 'Save what a sandbox holds, while it goes on' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const named = idOrName(args.id);
      const seconds = waitSeconds(args.wait);
      const client = connect(io);
      const id = await client.sandboxIdOf(named, { signal: io.signal });
      const watch = await OperationWatch.begin(io, client, id);
      const request = { ...(args.name && { name: args.name }), ...(args.full && { kind: 'full' as const }) };
      const accepted = await client.snapshots.take(id, request, { waitSeconds: 0, signal: io.signal });
      io.note(`${accepted.id} of ${id}`);
      const isEnd = ({ kind, detail }: { kind: string; detail: Record<string, unknown> }) =>
        (kind === 'snapshot.ready' || kind === 'snapshot.failed') && detail['snapshotId'] === accepted.id;
      await watch.until(isEnd, seconds, { what: accepted.id, look: `mayfly snapshot get ${accepted.id}` });
      const snapshot = await client.snapshots.get(accepted.id, { signal: io.signal });
      if (args.json) io.printJson(snapshot);
      else for (const line of snapshotLines(io, snapshot)) io.print(line);
      if (snapshot.failure) return exitCodeOfCode(snapshot.failure.code);
      return snapshot.readyAt === null ? EXIT.failed : EXIT.ok;
    },
  });
}
