import { defineCommand } from 'citty';
import type { Secret } from '../../client/secret/secrets.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const HEADER = ['NAME', 'VERSION', 'MASKED', 'CHANGED'];

function row({ name, version, isMasked, updatedAt }: Secret): string[] {
  return [name, String(version), isMasked ? 'yes' : 'no', updatedAt];
}

/** `mayfly secret list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List secrets by name, without what they are' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { secrets } = connect(io);
      await printList(io, args, { header: HEADER, row }, async ({ signal }) => ({
        ...(await secrets.list(signal && { signal })),
        nextCursor: null,
      }));
      return EXIT.ok;
    },
  });
}
