import { defineCommand } from 'citty';
import type { Schedule } from '../../client/functions/schedules.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const HEADER = ['NAME', 'FUNCTION', 'TIMES', 'ZONE', 'NEXT'];

function row({ name, function: of, cron, every, timeZone, nextAt, pausedAt }: Schedule): string[] {
  return [name, of, cron ?? `every ${every}`, timeZone, pausedAt === null ? (nextAt ?? 'none') : 'paused'];
}

/** `mayfly schedule list` */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List schedules, by name' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { schedules } = connect(io);
      await printList(io, args, { header: HEADER, row }, async ({ signal }) => ({
        ...(await schedules.list(signal && { signal })),
        nextCursor: null,
      }));
      return EXIT.ok;
    },
  });
}
