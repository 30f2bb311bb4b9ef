import { MayflyError } from '../model/errors.ts';
import type { HostRecord } from '../model/host.ts';
import { HOST_STALE_SECONDS } from '../model/host.ts';
import type { SandboxSpec } from '../model/sandbox.ts';
import type { SnapshotRecord } from '../model/snapshot.ts';
import type { Store } from '../store/connect.ts';
import { existingCapture } from './capture-view.ts';
import { existingSnapshot } from './snapshot-view.ts';

export type Origin = Pick<SandboxSpec, 'source' | 'snapshotId'> & { captureId: string | null };

interface OriginRequest {
  source?: string | undefined;
  snapshotId?: string | undefined;
  captureId?: string | undefined;
  cpus?: number | undefined;
  memoryMib?: number | undefined;
}

export function isLive(host: HostRecord, now = Date.now()): boolean {
  return now - Date.parse(host.lastSeenAt) <= HOST_STALE_SECONDS * 1_000;
}

/**
 * What a request's sandboxes are made from. Refuses, before anything is made, what no host could do; whether a host has
 * room is its own to say, in the saga.
 * @throws MayflyError no_host, source_not_found, snapshot_not_found, snapshot_not_ready, capture_not_found,
 *   capture_not_ready, invalid_request
 */
export async function placeableOrigin(
  store: Store,
  { source, snapshotId, captureId, cpus, memoryMib }: OriginRequest,
): Promise<Origin> {
  if (snapshotId !== undefined) {
    const snapshot = await existingSnapshot({ store }, snapshotId);
    if (snapshot.kind === 'full') refuseResizing({ cpus, memoryMib });
    return { source: await forkableSource(store, snapshot), snapshotId, captureId: null };
  }
  if (source === undefined) throw new MayflyError('invalid_request', 'Neither a source nor a snapshot is named.');
  await refuseUnplaceable(store, source);
  if (captureId !== undefined) await refuseUncloneable(store, captureId, source);
  return { source, snapshotId: null, captureId: captureId ?? (await newestCapture(store, source)) };
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

/** The source of a snapshot, which can only be used on the host that has it. */
async function forkableSource(store: Store, snapshot: SnapshotRecord): Promise<string> {
  const { id: snapshotId, state, hostId, source } = snapshot;
  if (state !== 'ready') throw new MayflyError('snapshot_not_ready', `The snapshot ${snapshotId} is ${state}.`);
  const { live } = await knownHosts(store);
  if (live.some(({ id }) => id === hostId)) return source;
  throw new MayflyError('no_host', `Only ${hostId}, which is away, has the snapshot ${snapshotId}.`);
}

/** @throws MayflyError invalid_request, no_host, capture_not_found, capture_not_ready */
async function refuseUncloneable(store: Store, captureId: string, source: string): Promise<void> {
  const capture = await existingCapture({ store }, captureId);
  if (capture.source !== source) {
    const problem = `is of the source ${JSON.stringify(capture.source)}`;
    throw new MayflyError('invalid_request', `captureId ${problem}.`, { fields: [{ field: 'captureId', problem }] });
  }
  if (capture.state !== 'ready') {
    throw new MayflyError('capture_not_ready', `The capture ${captureId} is ${capture.state}.`);
  }
  const { live } = await knownHosts(store);
  if (live.some(({ id }) => id === capture.hostId)) return;
  throw new MayflyError('no_host', `Only ${capture.hostId}, which is away, has the capture ${captureId}.`);
}

/** Null where the source itself can be cloned, or was never captured. */
async function newestCapture(store: Store, source: string): Promise<string | null> {
  const { live } = await knownHosts(store);
  const isCloneable = ({ sources }: HostRecord) => sources.some(({ name, cloneable }) => name === source && cloneable);
  if (live.some(isCloneable)) return null;
  const ready = await store.captures.ready(source);
  return ready.find(({ hostId }) => live.some(({ id }) => id === hostId))?.id ?? null;
}

/** @throws MayflyError no_host, source_not_found */
export async function refuseUnplaceable(store: Pick<Store, 'hosts'>, source: string): Promise<void> {
  const { hosts, live } = await knownHosts(store);
  if (live.some((host) => hasSource(host, source))) return;
  const away = hosts.filter((host) => hasSource(host, source)).map((host) => host.id);
  if (away.length > 0)
    throw new MayflyError('no_host', `Only hosts that are away have that source: ${away.join(', ')}.`);
  throw new MayflyError('source_not_found', `No host has a source named ${JSON.stringify(source)}.`);
}

/** @throws MayflyError no_host when none is live */
async function knownHosts(store: Pick<Store, 'hosts'>): Promise<{ hosts: HostRecord[]; live: HostRecord[] }> {
  const hosts = await store.hosts.list();
  const live = hosts.filter((host) => isLive(host));
  if (live.length > 0) return { hosts, live };
  throw new MayflyError('no_host', `None of ${hosts.length} known hosts was heard of within ${HOST_STALE_SECONDS} s.`);
}

function hasSource(host: HostRecord, name: string): boolean {
  return host.sources.some((source) => source.name === name);
}
