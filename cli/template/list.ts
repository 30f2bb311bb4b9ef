import { type ArgsDef, defineCommand } from 'citty';
import type { Template } from '../../client/templates.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const ARGS = { ...LIST_OPTION } as const satisfies ArgsDef;
const HEADER = ['ID', 'STATE', 'SOURCE', 'MACHINE', 'HOST', 'TAKES', 'WAKES', 'SAVED'];

function row({ id, state, source, cpus, memoryMib, hostId, sizeBytes, wakes, savedAt }: Template): string[] {
  const machine = `${cpus ?? '-'}/${memoryMib ?? '-'}`;
  return [id, state, source, machine, hostId, sizeBytes === null ? '-' : size(sizeBytes), `${wakes}`, savedAt ?? '-'];
}

/** `mayfly template list`: those that are not gone, newest first. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List templates, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { templates } = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => templates.list(page));
      return EXIT.ok;
    },
  });
}
