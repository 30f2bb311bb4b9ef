import { type ArgsDef, defineCommand } from 'citty';
import type { Snapshot } from '../../client/snapshots.ts';
import { checkArguments, idOrName } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { size } from './snapshot-text.ts';

const ARGS = {
  id: {
    type: 'positional',
    description: 'Id of a sandbox, also of one that has ended; or the name of one that lives',
    required: true,
  },
  ...LIST_OPTION,
} as const satisfies ArgsDef;
const HEADER = ['ID', 'NAME', 'STATE', 'KIND', 'TAKES', 'PARENT', 'CREATED'];

function row({ id, name, state, kind, saved, parentId, createdAt }: Snapshot): string[] {
  return [id, name, state, kind, saved ? size(saved.sizeBytes) : '-', parentId ?? '-', createdAt];
}

/** `mayfly snapshot list`: newest first, all pages. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the snapshots of a sandbox, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const named = idOrName(args.id);
      const client = connect(io);
      const id = await client.sandboxIdOf(named, { signal: io.signal });
      await printList(io, args, { header: HEADER, row }, (page) => client.snapshots.list(id, page));
      return EXIT.ok;
    },
  });
}
