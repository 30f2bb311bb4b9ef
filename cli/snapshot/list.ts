import { type ArgsDef, defineCommand } from 'citty';
import type { Snapshot } from '../../client/snapshots.ts';
import { LIMITS } from '../../model/limits.ts';
import { checkArguments, sandboxId } from '../terminal/arguments.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { size } from './snapshot-text.ts';

const ARGS = {
  id: { type: 'positional', description: 'Sandbox id; also of one that has ended', required: true },
  json: { type: 'boolean', description: 'Print NDJSON on stdout, one snapshot a line', default: false },
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
      const id = sandboxId(args.id);
      const { snapshots } = connect(io);
      const rows: string[][] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const options = { limit: LIMITS.page.max, signal: io.signal, ...(cursor && { cursor }) };
        const page = await snapshots.list(id, options);
        if (args.json) for (const snapshot of page.items) io.printJson(snapshot);
        else rows.push(...page.items.map(row));
        cursor = page.nextCursor;
      }
      if (!args.json) for (const line of columns(HEADER, rows)) io.print(line);
      return EXIT.ok;
    },
  });
}
