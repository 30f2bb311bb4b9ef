import { type ArgsDef, defineCommand } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { SANDBOX_STATES, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { columns } from '../terminal/columns.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

const ARGS = {
  all: { type: 'boolean', alias: 'a', description: 'Those that have ended too', default: false },
  state: { type: 'enum', options: [...SANDBOX_STATES], description: 'Only those in this state' },
  json: { type: 'boolean', description: 'Print NDJSON on stdout, one sandbox a line', default: false },
} as const satisfies ArgsDef;

function row(record: SandboxRecord): string[] {
  const state = record.phase ? `${record.state} (${record.phase})` : record.state;
  return [record.id, state, record.spec.source, record.hostId ?? '-', record.ssh?.address ?? '-', record.createdAt];
}

/** `mayfly sandbox list`: newest first, all pages; those that live, unless told otherwise. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the sandboxes that live, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const client = connect(io);
      const state = SANDBOX_STATES.find((known) => known === args.state);
      const rows: string[][] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await client.listSandboxes({
          limit: LIMITS.page.max,
          signal: io.signal,
          ...(state ? { state } : !args.all && { alive: true as const }),
          ...(cursor && { cursor }),
        });
        if (args.json) for (const record of page.items) io.printJson(record);
        else rows.push(...page.items.map(row));
        cursor = page.nextCursor;
      }
      if (!args.json)
        for (const line of columns(['ID', 'STATE', 'SOURCE', 'HOST', 'ADDRESS', 'CREATED'], rows)) io.print(line);
      return EXIT.ok;
    },
  });
}
