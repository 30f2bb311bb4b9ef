import { defineCommand } from 'citty';
import type { DeployedFunction } from '../../client/functions.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const HEADER = ['NAME', 'STATE', 'VERSION', 'CHANGED'];

function row({ name, state, activeVersion, updatedAt }: DeployedFunction): string[] {
  return [name, state, String(activeVersion), updatedAt];
}

/** `mayfly function list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List functions, by name' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { functions } = connect(io);
      await printList(io, args, { header: HEADER, row }, async ({ signal }) => ({
        ...(await functions.list(signal && { signal })),
        nextCursor: null,
      }));
      return EXIT.ok;
    },
  });
}
