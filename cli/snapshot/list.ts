import { type ArgsDef, defineCommand } from 'citty';
import type { Snapshot } from '../../client/snapshots.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printEach, printList } from '../terminal/list.ts';
import { findSandboxId, snapshotsOfAll } from './named.ts';
import { size } from './snapshot-text.ts';

const ARGS = {
  id: {
    type: 'positional',
    description: 'Id or name of a sandbox, also of one that has ended; when left out, all that live',
    required: false,
  },
  all: { type: 'boolean', alias: 'a', description: 'Of sandboxes that have ended too', default: false },
  ...LIST_OPTION,
} as const satisfies ArgsDef;
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

/** `mayfly snapshot list`: newest first, all pages. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the snapshots of a sandbox, or of all, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const client = connect(io);
      const { signal } = io;
      if (args.id === undefined) {
        await printEach(io, args, { header: HEADER, row }, snapshotsOfAll(client, !args.all, signal));
        return EXIT.ok;
      }
      const id = await findSandboxId(client, args.id, signal);
      await printList(io, args, { header: HEADER, row }, (page) => client.snapshots.list(id, page));
      return EXIT.ok;
    },
  });
}
