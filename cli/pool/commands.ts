import type { ArgsDef } from 'citty';
import { LIMITS } from '../../model/limits.ts';
import { option, positional, wholeNumber } from '../terminal/arguments.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { mebibytes } from '../terminal/quantities.ts';
import { POOL_HEADER, poolLines, poolRow } from './pool-text.ts';

const NAME = { name: positional('Name of a pool') };
const SHARED = {
  shared: { type: 'boolean', description: 'The one that all projects share (operators)' },
} as const satisfies ArgsDef;

/** `mayfly pool create|list|get|delete` */
export const poolCommand = nounCommand(
  {
    create: command({
      description: 'Keep sandboxes of a source ready, or change how many or which',
      args: {
        ...NAME,
        source: positional('Name of the golden VM (`mayfly source list`)'),
        min: { type: 'string', description: 'Members that are kept however few are claimed', default: '1' },
        max: option('Members at most (default: as many as --min)'),
        cpus: option("Virtual CPUs, else the source's"),
        memory: option("Memory, such as 512M or 2G, else the source's", '512M'),
        egress: {
          type: 'enum',
          options: ['none', 'internet'],
          description: 'What the guests can reach (default: none)',
        },
        shared: { type: 'boolean', description: 'For all projects (operators)' },
      },
      async call({ args, connect, options }) {
        const { poolMembers, cpus, memoryMib } = LIMITS;
        const min = wholeNumber('min', args.min, poolMembers.min, poolMembers.max);
        const settings = {
          source: args.source,
          min,
          max: args.max === undefined ? min : wholeNumber('max', args.max, poolMembers.min, poolMembers.max),
          ...(args.cpus && { cpus: wholeNumber('cpus', args.cpus, cpus.min, cpus.max) }),
          ...(args.memory && { memoryMib: mebibytes('memory', args.memory, memoryMib) }),
          ...(args.egress && { egress: args.egress }),
          ...(args.shared && { shared: true }),
        };
        return connect().pools.set(args.name, settings, options);
      },
      print: (_io, pool) => poolLines(pool),
    }),
    list: pagedCommand({
      description: 'List pools',
      table: { header: POOL_HEADER, row: poolRow },
      read: ({ connect, options }) => connect().pools.list(options),
    }),
    get: command({
      description: 'Show a pool, its members, and why there are too few',
      args: { ...NAME, ...SHARED },
      call: ({ io, args, connect }) =>
        connect().pools.get(args.name, { shared: args.shared === true, signal: io.signal }),
      print: (_io, pool) => poolLines(pool),
    }),
    delete: command({
      description: 'End a pool, and all of its members that nobody has claimed',
      args: { ...NAME, ...SHARED },
      call: ({ args, connect, options }) =>
        connect().pools.delete(args.name, { shared: args.shared === true, ...options }),
      print: (_io, pool) => poolLines(pool),
      isDone: (pool) => pool.state === 'deleted',
    }),
  },
  { create: ['set', 'update'] },
);
