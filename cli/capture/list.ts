import { type ArgsDef, defineCommand } from 'citty';
import type { Capture } from '../../client/captures.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const ARGS = {
  source: { type: 'positional', description: 'Source; also one that is gone', required: true },
  ...LIST_OPTION,
} as const satisfies ArgsDef;
const HEADER = ['ID', 'STATE', 'HOST', 'TAKES', 'PARENT', 'CREATED'];

function row({ id, state, hostId, saved, createdAt }: Capture): string[] {
  return [id, state, hostId, saved ? size(saved.sizeBytes) : '-', saved?.parentId ?? '-', createdAt];
}

/** `mayfly capture list`: newest first, all pages. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the captures of a source, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { captures } = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => captures.list(args.source, page));
      return EXIT.ok;
    },
  });
}
