import { MayflyError } from '../../model/errors.ts';
import {
  HOST_STALE_SECONDS,
  type HostProposals,
  type HostRecord,
  hasLive,
  holding,
  isPlaceable,
  type KnownHost,
  proposalsOf,
  serves,
} from '../../model/host.ts';
import { missingSource } from '../../model/images.ts';
import type { SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { isUnlimited, type StorageQuota } from '../../model/snapshots/storage.ts';
import { alike } from '../../model/source-content.ts';
import type { Store } from '../../store/connect.ts';
import { requireCapture } from './capture-view.ts';
import { requireSnapshot } from './snapshot-view.ts';

/** What sandboxes are made from, and the live hosts that can do so, the one with most memory to spare first. */
export interface Origin extends Pick<SandboxSpec, 'source' | 'snapshotId'>, HostProposals {
  captureId: string | null;
  /** What a fork can reach unless it asks otherwise; null: what a sandbox can that is not of a snapshot. */
  network: SandboxSpec['network'] | null;
}

interface OriginRequest {
  source?: string | undefined;
  snapshotId?: string | undefined;
  captureId?: string | undefined;
  cpus?: number | undefined;
  memoryMib?: number | undefined;
}

/**
 * What a request's sandboxes are made from. Refuses, before anything is made, what no host could do; whether a host has
 * room is its own to say, in the saga.
 * @throws MayflyError no_host, source_not_found, snapshot_not_found, snapshot_not_ready, capture_not_found,
 *   capture_not_ready, exceeds_hosts, source_differs, invalid_request
 */
export async function placeableOrigin(
  store: Store,
  { source, snapshotId, captureId, cpus, memoryMib }: OriginRequest,
): Promise<Origin> {
  if (snapshotId !== undefined) {
    const snapshot = await requireSnapshot({ store }, snapshotId);
    if (snapshot.kind === 'full') refuseResizing({ cpus, memoryMib });
    const host = await forkingHost(store, snapshot);
    const network = await networkOf(store, snapshot);
    const proposals = proposalsOf(largeEnough([host], memoryMib));
    return { source: snapshot.source, snapshotId, captureId: null, network, ...proposals };
  }
  if (source === undefined) throw new MayflyError('invalid_request', 'Neither a source nor a snapshot is named.');
  const known = await knownHosts(store);
  refuseUnknown(known, source);
  const capture =
    captureId === undefined
      ? await newestCapture(store, known, source)
      : await cloneable(store, known, captureId, source);
  const proposals = capture
    ? proposalsOf(
        largeEnough(
          known.live.filter((host) => serves(host, capture)),
          memoryMib,
        ),
      )
    : alike(largeEnough(holding(known.live, source), memoryMib), source);
  return { source, snapshotId: null, captureId: capture?.id ?? null, network: null, ...proposals };
}

/** Snapshots from before it was kept with them have that of their sandbox, for as long as it has a record. */
async function networkOf(store: Store, { network, sandboxId }: SnapshotRecord): Promise<SandboxSpec['network'] | null> {
  return network ?? (await store.sandboxes.get(sandboxId))?.spec.network ?? null;
}

/** Those that have so much memory in all: whether they have it to spare changes, that does not. @throws MayflyError exceeds_hosts */
function largeEnough<H extends HostRecord>(hosts: H[], memoryMib = 0): H[] {
  const large = hosts.filter(({ capacity }) => capacity.memoryTotalMib >= memoryMib);
  if (large.length > 0) return large;
  const most = Math.max(...hosts.map(({ capacity }) => capacity.memoryTotalMib));
  throw new MayflyError('exceeds_hosts', `It needs ${memoryMib} MiB of memory; the largest host has ${most} in all.`);
}

/** The hosts to propose for whom. What a key with a quota wishes is admitted by placement, one after another. */
export function proposedTo(apiKey: StorageQuota, { hostIds, installations = {}, content }: Origin): HostProposals {
  if (!isUnlimited(apiKey)) return { hostIds: [] };
  return { hostIds, installations, ...(content !== undefined && { content }) };
}

/** What runs in saved memory has seen its processors and their memory: they stay as they were. */
function refuseResizing(wanted: Pick<OriginRequest, 'cpus' | 'memoryMib'>): void {
  const problem =
    'must be left out: the snapshot has memory (kind `full`), so its forks are as large as what was saved';
  const fields = Object.entries(wanted).flatMap(([field, value]) => (value === undefined ? [] : [{ field, problem }]));
  if (fields.length === 0) return;
  const names = fields.map(({ field }) => field).join(', ');
  throw new MayflyError('invalid_request', `${names} ${problem}.`, { fields });
}

/** The host that has the snapshot, and alone can use it. */
async function forkingHost(store: Store, snapshot: SnapshotRecord): Promise<KnownHost> {
  const { id: snapshotId, state, hostId } = snapshot;
  if (state !== 'ready') throw new MayflyError('snapshot_not_ready', `The snapshot ${snapshotId} is ${state}.`);
  const { live } = await knownHosts(store);
  const host = live.find((one) => serves(one, snapshot));
  if (host) return host;
  throw new MayflyError('no_host', `Only ${hostId}, which is away or drained, has the snapshot ${snapshotId}.`);
}

/** @throws MayflyError invalid_request, no_host, capture_not_found, capture_not_ready */
async function cloneable(store: Store, { live }: Known, captureId: string, source: string): Promise<CaptureRecord> {
  const capture = await requireCapture({ store }, captureId);
  if (capture.source !== source) {
    const problem = `is of the source ${JSON.stringify(capture.source)}`;
    throw new MayflyError('invalid_request', `captureId ${problem}.`, { fields: [{ field: 'captureId', problem }] });
  }
  if (capture.state !== 'ready') {
    throw new MayflyError('capture_not_ready', `The capture ${captureId} is ${capture.state}.`);
  }
  if (hasLive(live, capture)) return capture;
  throw new MayflyError('no_host', `Only ${capture.hostId}, which is away or drained, has the capture ${captureId}.`);
}

/** Null where the source itself can be cloned, or was never captured. @throws MayflyError source_differs */
async function newestCapture(store: Store, { live }: Known, source: string): Promise<CaptureRecord | null> {
  const isCloneable = ({ sources }: HostRecord) => sources.some(({ name, cloneable }) => name === source && cloneable);
  if (live.some(isCloneable)) return null;
  const ready = (await store.captures.ready(source)).filter((capture) => hasLive(live, capture));
  const hostIds = [...new Set(ready.map(({ hostId }) => hostId))];
  if (hostIds.length < 2) return ready[0] ?? null;
  const where = `${hostIds.join(' and ')} each have captures of a machine ${JSON.stringify(source)}`;
  throw new MayflyError('source_differs', `${where}, and those are different machines: name the capture (captureId).`);
}

/** @throws MayflyError no_host, source_not_found */
export async function refuseUnplaceable(store: Pick<Store, 'hosts'>, source: string): Promise<void> {
  refuseUnknown(await knownHosts(store), source);
}

function refuseUnknown({ hosts, live }: Known, source: string): void {
  if (holding(live, source).length > 0) return;
  const away = holding(hosts, source).map((host) => host.id);
  if (away.length > 0)
    throw new MayflyError('no_host', `Only hosts that are away or drained have that source: ${away.join(', ')}.`);
  throw new MayflyError('source_not_found', missingSource(source, live));
}

interface Known {
  hosts: KnownHost[];
  live: KnownHost[];
}

/** @throws MayflyError no_host when none is live */
async function knownHosts(store: Pick<Store, 'hosts'>): Promise<Known> {
  const hosts = await store.hosts.list();
  const live = hosts.filter((host) => isPlaceable(host));
  if (live.length > 0) return { hosts, live };
  const why = `None of ${hosts.length} known hosts was heard of within ${HOST_STALE_SECONDS} s and is not drained.`;
  throw new MayflyError('no_host', why);
}
