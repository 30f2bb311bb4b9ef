import { type HostRecord, isPlaceable, type KnownHost } from '../../model/host.ts';
import type { PoolRecord } from '../../model/pools/pool.ts';
import { isShared } from '../../model/pools/pool-saga.ts';
import type { ClaimRequest } from '../../model/sagas/messages.ts';
import { sizeOfSource } from '../../model/source-content.ts';
import type { StoredMember } from '../sandboxes/pool-members.ts';
import { shuffled } from './shuffled.ts';

/** A member that would do, as its request says it; what is not said is as its source has it. */
export interface MemberWish extends Omit<ClaimRequest, 'size'> {
  size: { cpus: number | undefined; memoryMib: number | undefined };
}

/** A member that might be had. */
interface Candidate {
  id: string;
  pool: PoolRecord;
}

interface Candidates {
  request: ClaimRequest;
  /** The project's own, then shared ones, each in no order: of many requests at once, each begins with another. */
  members: Candidate[];
  /** There may be shared ones, of which the project has had its share. */
  isLimited: boolean;
}

/** Whether members of a pool may be what is wanted. */
export function isOf({ source, egress, state }: PoolRecord, { spec }: MemberWish): boolean {
  return state !== 'deleting' && source === spec.source && egress === spec.network.egress;
}

/** What a project sees of pools. */
interface SeenPools {
  hosts: { list(): Promise<KnownHost[]> };
  pools: {
    warm(of: 'own' | 'shared'): Promise<StoredMember[]>;
    isShareLeft(pool: PoolRecord): Promise<boolean>;
  };
}

/** @param pools that {@link isOf} says yes to */
export async function candidates(
  store: SeenPools,
  pools: readonly PoolRecord[],
  wanted: MemberWish,
  known: readonly KnownHost[] | Promise<KnownHost[]> = store.hosts.list(),
): Promise<Candidates> {
  const shared = pools.filter(isShared);
  const [own, others, left, hosts] = await Promise.all([
    pools.length > shared.length ? store.pools.warm('own') : [],
    shared.length > 0 ? store.pools.warm('shared') : [],
    Promise.all(shared.map((pool) => store.pools.isShareLeft(pool))),
    known,
  ]);
  const open = pools.filter((pool) => !isShared(pool) || left[shared.indexOf(pool)]);
  const size = sizeOfSource(wanted.spec.source, hosts, wanted.size);
  const request = { ...wanted, size };
  const fits = fitting(request, hosts);
  const ofPools = (members: readonly StoredMember[]) =>
    shuffled(members.filter(fits)).flatMap(({ id, project, pool: of }) => {
      const pool = open.find((each) => each.project === project && each.name === of?.name);
      return pool && pool.revision === of?.revision ? [{ id, pool }] : [];
    });
  return { request, members: [...ofPools(own), ...ofPools(others)], isLimited: open.length < pools.length };
}

function fitting({ spec, size }: ClaimRequest, hosts: readonly KnownHost[]): (member: StoredMember) => boolean {
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

/** Undefined where the project has no such source, or none any more. */
function contentOn({ sources }: HostRecord, source: string): string | null | undefined {
  const own = sources.find(({ name }) => name === source);
  return own && (own.content ?? null);
}
