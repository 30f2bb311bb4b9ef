import { type ArgsDef, defineCommand } from 'citty';
import type { Waitpoint } from '../../client/functions/waitpoints.ts';
import { RUN, runId } from '../function/input/names.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const ARGS = { ...RUN, ...LIST_OPTION } as const satisfies ArgsDef;
const HEADER = ['NAME', 'STATE', 'ASKED FOR', 'EXPIRES'];

/** `mayfly waitpoint list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the waitpoints of a run, the oldest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const id = runId(args.id);
      const { waitpoints } = connect(io);
      await printList(io, args, { header: HEADER, row }, async () => ({
        ...(await waitpoints.list(id, { signal: io.signal })),
        nextCursor: null,
      }));
      return EXIT.ok;
    },
  });
}

function row({ name, state, askedAt, expiresAt }: Waitpoint): string[] {
  return [name, state, askedAt ?? 'not yet', expiresAt];
}
