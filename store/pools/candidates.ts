import { type HostRecord, isPlaceable, type StoredHost } from '../../model/host.ts';
import type { PoolRecord } from '../../model/pools/pool.ts';
import { isShared } from '../../model/pools/pool-saga.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import { getSourceSize } from '../../model/source-content.ts';
import type { StoredMember } from '../sandboxes/pool-members.ts';
import { shuffle } from './shuffled.ts';

/** Member that a request wants; an absent size is that of its source. */
export interface MemberRequest extends Omit<ClaimRequest, 'size'> {
  size: { cpus: number | undefined; memoryMib: number | undefined };
}

/** Member that may be claimable. */
interface Candidate {
  id: string;
  pool: PoolRecord;
}

interface Candidates {
  request: ClaimRequest;
  /** Own members, then shared ones, each shuffled, so that concurrent requests start with different ones. */
  members: Candidate[];
  /** True when the project has used its share of a shared pool, whose members are omitted. */
  isLimited: boolean;
}

/** Reports whether members of a pool may match a request. */
export function matchesPool({ source, egress, state }: PoolRecord, { spec }: MemberRequest): boolean {
  return state !== 'deleting' && source === spec.source && egress === spec.network.egress;
}

/** Pools and hosts as a project sees them. */
interface VisiblePools {
  hosts: { list(): Promise<StoredHost[]> };
  pools: {
    warm(of: 'own' | 'shared'): Promise<StoredMember[]>;
    isShareLeft(pool: PoolRecord): Promise<boolean>;
  };
}

/** @param pools pools for which {@link matchesPool} is true */
export async function findCandidates(
  store: VisiblePools,
  pools: readonly PoolRecord[],
  wanted: MemberRequest,
  known: readonly StoredHost[] | Promise<StoredHost[]> = store.hosts.list(),
): Promise<Candidates> {
  const shared = pools.filter(isShared);
  const [own, others, left, hosts] = await Promise.all([
    pools.length > shared.length ? store.pools.warm('own') : [],
    shared.length > 0 ? store.pools.warm('shared') : [],
    Promise.all(shared.map((pool) => store.pools.isShareLeft(pool))),
    known,
  ]);
  const open = pools.filter((pool) => !isShared(pool) || left[shared.indexOf(pool)]);
  const size = getSourceSize(wanted.spec.source, hosts, wanted.size);
  const request = { ...wanted, size };
  const fits = memberFilter(request, hosts);
  const ofPools = (members: readonly StoredMember[]) =>
    shuffle(members.filter(fits)).flatMap(({ id, project, pool: of }) => {
      const pool = open.find((each) => each.project === project && each.name === of?.name);
      return pool && pool.revision === of?.revision ? [{ id, pool }] : [];
    });
  return { request, members: [...ofPools(own), ...ofPools(others)], isLimited: open.length < pools.length };
}

function memberFilter({ spec, size }: ClaimRequest, hosts: readonly StoredHost[]): (member: StoredMember) => boolean {
  const { source, network } = spec;
  const placeable = hosts.filter((host) => isPlaceable(host));
  const contents = new Map(placeable.map((host) => [host.id, contentOn(host, source)]));
  return (member) =>
    member.source === source &&
    member.egress === network.egress &&
    member.size?.cpus === size.cpus &&
    member.size.memoryMib === size.memoryMib &&
    member.hostId !== null &&
    contents.get(member.hostId) === member.pool?.content;
}

/** Returns undefined when the host has no such source. */
function contentOn({ sources }: HostRecord, source: string): string | null | undefined {
  const own = sources.find(({ name }) => name === source);
  return own && (own.content ?? null);
}
