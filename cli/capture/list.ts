import { type ArgsDef, defineCommand } from 'citty';
import type { Capture } from '../../client/captures.ts';
import { LIMITS } from '../../model/limits.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

const ARGS = {
  source: { type: 'positional', description: 'Source; also one that is gone', required: true },
  json: { type: 'boolean', description: 'Print NDJSON on stdout, one capture a line', default: false },
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
      const rows: string[][] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const options = { limit: LIMITS.page.max, signal: io.signal, ...(cursor && { cursor }) };
        const page = await captures.list(args.source, options);
        if (args.json) for (const capture of page.items) io.printJson(capture);
        else rows.push(...page.items.map(row));
        cursor = page.nextCursor;
      }
      if (!args.json) for (const line of columns(HEADER, rows)) io.print(line);
      return EXIT.ok;
    },
  });
}
