import type { Snapshot } from '../../clients/typescript/http/openapi.ts';
import { flag, idOrName, option, positional, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { EXIT, exitCodeOfCode } from '../terminal/cli-error.ts';
import { command, customCommand, nounCommand } from '../terminal/command.ts';
import { LIST_OPTION, printEach, printList } from '../terminal/list.ts';
import { OperationWatch } from './fork.ts';
import { findSandboxId, findSnapshotId, SNAPSHOT, snapshotIdOrName, snapshotsOfAll } from './named.ts';
import { size, snapshotLines } from './snapshot-text.ts';

const HEADER = ['ID', 'NAME', 'SANDBOX', 'STATE', 'KIND', 'TAKES', 'PARENT', 'CREATED'];

type Shown = Snapshot & { sandboxName?: string | null };

function row({ id, name, sandboxId, sandboxName, state, kind, saved, parentId, createdAt }: Shown): string[] {
  return [
    id,
    name,
    sandboxName ?? sandboxId,
    state,
    kind,
    saved ? size(saved.sizeBytes) : '-',
    parentId ?? '-',
    createdAt,
  ];
}

export const snapshotCommand = nounCommand({
  /** Done when the snapshot is saved and checked. */
  create: command({
    description: 'Save what a sandbox holds, while it goes on',
    args: {
      id: positional('Id or name of a sandbox'),
      name: option('Unique in the sandbox (default: the id of the snapshot)'),
      full: flag('With the memory: processes come back as they were'),
      ...WAIT_OPTION,
    },
    async call({ io, args, connect, options }) {
      const named = idOrName(args.id);
      const seconds = waitSeconds(args.wait);
      const client = connect();
      const id = await client.sandboxIdOf(named, options);
      const watch = await OperationWatch.begin(io, client, id);
      const request = { ...(args.name && { name: args.name }), ...(args.full && { kind: 'full' as const }) };
      const accepted = await client.snapshots.take(id, request, { waitSeconds: 0, signal: io.signal });
      io.note(`${accepted.id} of ${id}`);
      const isEnd = ({ kind, detail }: { kind: string; detail: Record<string, unknown> }) =>
        (kind === 'snapshot.ready' || kind === 'snapshot.failed') && detail['snapshotId'] === accepted.id;
      await watch.until(isEnd, seconds, { what: accepted.id, look: `mayfly snapshot get ${accepted.id}` });
      return client.snapshots.get(accepted.id, options);
    },
    print: snapshotLines,
    exit(snapshot) {
      if (snapshot.failure) return exitCodeOfCode(snapshot.failure.code);
      return snapshot.readyAt === null ? EXIT.failed : EXIT.ok;
    },
  }),
  /** Newest first, all pages. */
  list: customCommand({
    description: 'List the snapshots of a sandbox, or of all, newest first',
    args: {
      id: {
        type: 'positional',
        description: 'Id or name of a sandbox, also of one that has ended; when left out, all that live',
        required: false,
      },
      all: { type: 'boolean', alias: 'a', description: 'Of sandboxes that have ended too', default: false },
      ...LIST_OPTION,
    },
    async run({ io, args, connect }) {
      const [client, table, { signal }] = [connect(), { header: HEADER, row }, io];
      if (args.id === undefined) {
        await printEach(io, args, table, snapshotsOfAll(client, !args.all, signal));
        return;
      }
      const id = await findSandboxId(client, args.id, signal);
      await printList(io, args, table, (page) => client.snapshots.list(id, page));
    },
  }),
  get: command({
    description: 'Show a snapshot',
    args: { id: positional(SNAPSHOT) },
    async call({ io, args, connect }) {
      snapshotIdOrName(args.id);
      const client = connect();
      const { signal } = io;
      return client.snapshots.get(await findSnapshotId(client, args.id, signal), { signal });
    },
    print: snapshotLines,
  }),
  /** Prints why the content is still needed, if something refers to it. */
  delete: command({
    description: 'Delete a snapshot; what others refer to is freed with the last of them',
    args: { id: positional(SNAPSHOT) },
    async call({ io, args, connect, options }) {
      snapshotIdOrName(args.id);
      const client = connect();
      const id = await findSnapshotId(client, args.id, io.signal);
      return client.snapshots.delete(id, options);
    },
    print: snapshotLines,
    isDone: (snapshot) => snapshot.state === 'deleted' || snapshot.state === 'failed',
  }),
});
