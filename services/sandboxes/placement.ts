import { MayflyError } from '../../model/errors.ts';
import {
  type CandidateHosts,
  HOST_STALE_SECONDS,
  type HostRecord,
  includesHost,
  isPlaceable,
  isSameHost,
  type StoredHost,
  selectHostsWithSource,
  toCandidateHosts,
  toHostRef,
} from '../../model/host.ts';
import { describeMissingSource } from '../../model/image/own-images.ts';
import type { Size } from '../../model/project-limits.ts';
import type { Network, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { isUnlimited, type StorageQuota } from '../../model/snapshots/storage.ts';
import { getSourceSize, selectHostsWithSameContent } from '../../model/source-content.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { requireCapture, requireSnapshot } from '../service-deps.ts';

/** Origin of sandboxes, and the candidate hosts, the one with most free memory first. */
export interface Origin extends Pick<SandboxSpec, 'source' | 'snapshotId'>, CandidateHosts {
  captureId: string | null;
  /** Network that the sandboxes can reach. */
  network: Network;
  /** Size of each against the quotas of its project. */
  size: Size;
  /** True when placement must check the byte quotas. */
  isDiskLimited: boolean;
  /** Hosts as read from the store. */
  known: readonly StoredHost[];
}

/** Properties that a request may leave out. */
export type Unset<T> = { [K in keyof T]?: T[K] | undefined };

type OriginRequest = Unset<Pick<SandboxSpec, 'source' | 'snapshotId' | 'captureId' | 'cpus' | 'memoryMib' | 'network'>>;

/**
 * Returns the origin of a request's sandboxes. Refuses early what no host could serve; the workflow checks free
 * capacity.
 * @throws MayflyError no_host, source_not_found, snapshot_not_found, snapshot_not_ready, capture_not_found,
 *   capture_not_ready, exceeds_hosts, source_differs, invalid_request, forbidden
 */
export async function placeableOrigin(store: ProjectStore, request: OriginRequest): Promise<Origin> {
  const { snapshotId, source } = request;
  const [isDiskLimited, known] = await Promise.all([store.isDiskLimited(), knownHosts(store)]);
  if (!snapshotId && !source) throw new MayflyError('invalid_request', 'Neither a source nor a snapshot is named.');
  const { makers, saved, ...origin } = snapshotId
    ? await originOfSnapshot(store, known, snapshotId, request)
    : await originOfSource(store, known, source ?? '', request);
  const { cpus = saved?.cpus, memoryMib = saved?.memoryMib } = request;
  const size = getSourceSize(origin.source, makers, { cpus, memoryMib });
  return { ...origin, size, isDiskLimited, known: known.hosts };
}

interface FoundOrigin extends Omit<Origin, 'size' | 'isDiskLimited' | 'known'> {
  /** Hosts that can make it; the largest source size among them applies. */
  makers: readonly HostRecord[];
  /** Size of the saved memory. `@default` none */
  saved?: Size | undefined;
}

async function originOfSnapshot(
  store: ProjectStore,
  known: KnownHosts,
  snapshotId: string,
  { cpus, memoryMib, network: wanted }: OriginRequest,
): Promise<FoundOrigin> {
  const snapshot = await requireSnapshot({ store }, snapshotId);
  const isFull = snapshot.kind === 'full';
  if (isFull) assertSavedSize({ cpus, memoryMib });
  const makers = filterByMemory([requireSnapshotHost(known, snapshot)], memoryMib);
  const network = networkFor(wanted, snapshot.network);
  const origin = { source: snapshot.source, snapshotId, captureId: null, network, ...toCandidateHosts(makers) };
  return { ...origin, makers, saved: isFull ? snapshot.size : undefined };
}

async function originOfSource(
  store: ProjectStore,
  known: KnownHosts,
  source: string,
  { captureId, memoryMib, network: wanted }: OriginRequest,
): Promise<FoundOrigin> {
  refuseUnknown(known, source);
  const capture = captureId
    ? await requireCloneableCapture(store, known, captureId, source)
    : await newestCapture(store, known, source);
  const makers = filterByMemory(
    capture
      ? known.live.filter((host) => isSameHost(toHostRef(host), capture))
      : selectHostsWithSource(known.live, source),
    memoryMib,
  );
  const proposals = capture ? toCandidateHosts(makers) : selectHostsWithSameContent(makers, source);
  const network = networkFor(wanted, capture && { egress: 'none', allowed: capture.allowedEgress });
  return { source, snapshotId: null, captureId: capture?.id ?? null, network, ...proposals, makers };
}

/** @param from network of its source or snapshot, with its limit @throws MayflyError forbidden */
function networkFor(wanted: Pick<Network, 'egress'> | undefined, from: Network | null): Network {
  const { egress, allowed } = from ?? { egress: 'none' };
  const network = { egress: wanted?.egress ?? egress, ...(allowed !== undefined && { allowed }) };
  if (allowed === undefined || allowed === 'internet' || network.egress === allowed) return network;
  const why = `it is made of a capture that allows its clones the egress ${allowed}, and no more`;
  throw new MayflyError('forbidden', `The egress ${network.egress} is refused: ${why}.`);
}

/**
 * Returns hosts with enough total memory; free memory changes, and is checked later.
 * @throws MayflyError exceeds_hosts
 */
function filterByMemory<H extends HostRecord>(hosts: H[], wanted: number | null = null): H[] {
  const memoryMib = wanted ?? 0;
  const large = hosts.filter(({ capacity }) => capacity.memoryTotalMib >= memoryMib);
  if (large.length > 0) return large;
  const most = Math.max(...hosts.map(({ capacity }) => capacity.memoryTotalMib));
  throw new MayflyError('exceeds_hosts', `It needs ${memoryMib} MiB of memory; the largest host has ${most} in all.`);
}

/** Returns the candidate hosts for a key. None with a byte quota: placement then admits one request after another. */
export function proposeHosts(apiKey: StorageQuota, { hosts, content, isDiskLimited }: Origin): CandidateHosts {
  if (isDiskLimited || !isUnlimited(apiKey)) return { hosts: [] };
  return { hosts, ...(content !== undefined && { content }) };
}

/** Refuses another size: programs in saved memory know its processors and memory. */
function assertSavedSize(wanted: Pick<OriginRequest, 'cpus' | 'memoryMib'>): void {
  const problem =
    'must be left out: the snapshot has memory (kind `full`), so its forks are as large as what was saved';
  const fields = Object.entries(wanted).flatMap(([field, value]) =>
    (value ?? null) === null ? [] : [{ field, problem }],
  );
  if (fields.length === 0) return;
  const names = fields.map(({ field }) => field).join(', ');
  throw new MayflyError('invalid_request', `${names} ${problem}.`, { fields });
}

/** Returns the only host that has the snapshot. */
function requireSnapshotHost({ live }: KnownHosts, snapshot: SnapshotRecord): StoredHost {
  const { id: snapshotId, state, hostId } = snapshot;
  if (state !== 'ready') throw new MayflyError('snapshot_not_ready', `The snapshot ${snapshotId} is ${state}.`);
  const host = live.find((one) => isSameHost(toHostRef(one), snapshot));
  if (host) return host;
  throw new MayflyError('no_host', `Only ${hostId}, which is away or drained, has the snapshot ${snapshotId}.`);
}

/**
 * Returns a ready capture on a live host.
 * @throws MayflyError invalid_request, no_host, capture_not_found, capture_not_ready
 */
async function requireCloneableCapture(
  store: ProjectStore,
  { live }: KnownHosts,
  captureId: string,
  source: string,
): Promise<CaptureRecord> {
  const capture = await requireCapture({ store }, captureId);
  if (capture.source !== source) {
    const problem = `is of the source ${JSON.stringify(capture.source)}`;
    throw new MayflyError('invalid_request', `captureId ${problem}.`, { fields: [{ field: 'captureId', problem }] });
  }
  if (capture.state !== 'ready') {
    throw new MayflyError('capture_not_ready', `The capture ${captureId} is ${capture.state}.`);
  }
  if (includesHost(live.map(toHostRef), capture)) return capture;
  throw new MayflyError('no_host', `Only ${capture.hostId}, which is away or drained, has the capture ${captureId}.`);
}

/**
 * Returns the newest ready capture of a source; null when the source itself is cloneable, or has no capture. @throws
 * MayflyError source_differs
 */
async function newestCapture(store: ProjectStore, { live }: KnownHosts, source: string): Promise<CaptureRecord | null> {
  const isCloneable = ({ sources }: HostRecord) => sources.some(({ name, cloneable }) => name === source && cloneable);
  if (live.some(isCloneable)) return null;
  const ready = (await store.captures.ready(source)).filter((capture) => includesHost(live.map(toHostRef), capture));
  const hostIds = [...new Set(ready.map(({ hostId }) => hostId))];
  if (hostIds.length < 2) return ready[0] ?? null;
  const where = `${hostIds.join(' and ')} each have captures of a machine ${JSON.stringify(source)}`;
  throw new MayflyError('source_differs', `${where}, and those are different machines: name the capture (captureId).`);
}

/** @throws MayflyError no_host, source_not_found */
export async function assertPlaceable(store: Pick<ProjectStore, 'hosts'>, source: string): Promise<void> {
  refuseUnknown(await knownHosts(store), source);
}

function refuseUnknown({ hosts, live }: KnownHosts, source: string): void {
  if (selectHostsWithSource(live, source).length > 0) return;
  const away = selectHostsWithSource(hosts, source).map((host) => host.id);
  if (away.length > 0)
    throw new MayflyError('no_host', `Only hosts that are away or drained have that source: ${away.join(', ')}.`);
  throw new MayflyError('source_not_found', describeMissingSource(source, live));
}

interface KnownHosts {
  hosts: StoredHost[];
  live: StoredHost[];
}

/** @throws MayflyError no_host when none is live */
async function knownHosts(store: Pick<ProjectStore, 'hosts'>): Promise<KnownHosts> {
  const hosts = await store.hosts.list();
  const live = hosts.filter((host) => isPlaceable(host));
  if (live.length > 0) return { hosts, live };
  const why = `None of ${hosts.length} known hosts was heard of within ${HOST_STALE_SECONDS} s and is not drained.`;
  throw new MayflyError('no_host', why);
}
