import type { Pool } from '../../clients/typescript/http/openapi.ts';
import { printable } from '../terminal/printable.ts';

export const POOL_HEADER = ['NAME', 'STATE', 'SOURCE', 'WARM', 'WANTED', 'HITS', 'MISSES'];

/** One line of a list. */
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

/** What is told of one. */
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
