import type { ArgsDef } from 'citty';
import type { Pool } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { mebibytes, option, positional, wholeNumber } from '../terminal/arguments.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/io.ts';

export const POOL_HEADER = ['NAME', 'STATE', 'SOURCE', 'WARM', 'WANTED', 'HITS', 'MISSES'];

export function poolRow({
  name,
  shared,
  state,
  source,
  members,
  wanted,
  claims,
}: Pick<Pool, 'name' | 'shared' | 'state' | 'source' | 'members' | 'wanted' | 'claims'>): string[] {
  const warm = members.filter((member) => member.state === 'warm').length;
  return [
    shared ? `${name} (shared)` : name,
    state,
    printable(source),
    String(warm),
    String(wanted),
    String(claims.hits),
    String(claims.misses),
  ];
}

/** Formats a pool for a person. */
export function poolLines(pool: Pool): string[] {
  const { name, shared, state, source, cpus, memoryMib, egress, min, max, wanted, reason, retryAt, members, claims } =
    pool;
  const size =
    [cpus && `${cpus} CPUs`, memoryMib && `${memoryMib} MiB`].filter(Boolean).join(', ') || "the source's size";
  return [
    `${name}${shared ? ', which all projects share,' : ''} is ${state}: ${printable(source)}, ${size}, egress ${egress}, ${min} to ${max} members, wants ${wanted}`,
    `claims: ${claims.hits} had a member, ${claims.misses} found none; idle: ${pool.idleMibHours} MiB-hours`,
    ...(reason === null ? [] : [`why: ${printable(reason)}`]),
    ...(retryAt === null ? [] : [`tries again at ${retryAt}`]),
    ...members.map(
      (member) => `  ${member.sandboxId}  ${member.state}  ${member.hostId ?? '-'}  ${member.warmAt ?? '-'}`,
    ),
  ];
}

const NAME = { name: positional('Name of a pool') };
const SHARED = {
  shared: { type: 'boolean', description: 'The one that all projects share (operators)' },
} as const satisfies ArgsDef;

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
