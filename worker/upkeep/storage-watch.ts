import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { everyQuota, excessOfSandbox, excessOfShared } from '../../activities/snapshot/disk-quotas.ts';
import type { StorageRoom } from '../../activities/snapshot/storage-room.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { Ledger } from '../../host/ledger.ts';
import { setIntervalAsync } from '../../host/os/repeating.ts';
import { MayflyError } from '../../model/errors.ts';
import { isSameHost, type Observer } from '../../model/host.ts';
import { ID_BYTES, operationIdFrom } from '../../model/ids.ts';
import { DEFAULT_INTERVALS, type Intervals } from '../../model/intervals.ts';
import type { Operation } from '../../model/sagas/messages.ts';
import type { SpaceSuspensionCause } from '../../model/sandbox/sandbox.ts';
import { formatFreeSpace, type HostDisk, hasSpaceToResume, isFull } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import type { MeasuredDisk } from '../../store/sandboxes/measured-disks.ts';
import { listStorageUse } from '../../store/stored-parts.ts';
import type { ApiWorkflows } from '../../temporal/temporal-sagas.ts';
import { GrowthTracker } from './growth.ts';

/** Sandboxes measured per poll while space is ample: the cost of a poll must not grow with their number. */
const MEASURED_AT_ONCE = 4;
/** Polls per write of measurements to the store while space is ample: the document has every sandbox of the host. */
const REPORT_EVERY_POLLS = 5;
/**
 * Polls per query of libvirt for guests that found no space while the disk has some: a quota of the host stopped them.
 */
const QUERY_EVERY_POLLS = 15;
/** Time limit of an operation that the watch requests, ms. */
const OPERATION_MS = 60_000;

export interface StorageWatchDeps {
  observer: Observer;
  hypervisor: Pick<Hypervisor, 'disk' | 'diskBytes' | 'heldBytes' | 'stopped'>;
  ledger: Pick<Ledger, 'sandboxIds'>;
  room: Pick<StorageRoom, 'check'>;
  store: Store;
  sagas: Pick<ApiWorkflows, 'sandboxes'>;
  logger: Logger;
  /** `@default` {@link DEFAULT_INTERVALS} */
  intervals?: Pick<Intervals, 'storageMs' | 'measureMs'>;
}

/** Disk usage of a sandbox alone, and its time (performance.now; -Infinity: measured by the previous worker). */
interface Measured {
  bytes: number;
  at: number;
}

type Limited = Awaited<ReturnType<typeof everyQuota>>;

/** Reason to suspend a sandbox. */
interface SuspensionReason {
  cause: SpaceSuspensionCause;
  why: string;
}

/**
 * Measures the disk usage of this host's sandboxes. A sandbox that grows without free space, or past a quota, is
 * suspended by its own workflow until there is space. Each poll reads the present state, so a dead process loses
 * nothing.
 */
export class StorageWatch {
  readonly #deps: StorageWatchDeps;
  readonly #stopped = new AbortController();
  readonly #growth = new GrowthTracker();
  /** Sandboxes possibly suspended for space; their records decide. */
  #suspended = new Set<string>();
  readonly #asked = new Map<string, Promise<void>>();
  readonly #measured = new Map<string, Measured>();
  /** Measurements not yet written to the store. */
  #untold: MeasuredDisk['sandboxes'] | null = null;
  #told = { text: '', at: -Infinity };
  #looks = 0;
  #stopLoop: () => Promise<void> = async () => {};

  constructor(deps: StorageWatchDeps) {
    this.#deps = deps;
  }

  /** Measures once, then periodically. */
  async start(): Promise<void> {
    const { store, observer } = this.#deps;
    const { hostId } = observer;
    const paused = await store.sandboxes.all(['paused']);
    this.#suspended = new Set(paused.filter((one) => isSameHost(one, observer) && one.stalledBy).map(({ id }) => id));
    const before = (await store.measuredDisks.list()).find((one) => one.hostId === hostId);
    for (const { id, bytes } of before?.sandboxes ?? []) this.#measured.set(id, { bytes, at: -Infinity });
    await this.#look();
    this.#stopLoop = setIntervalAsync(() => this.#look(), this.#intervals.storageMs, false);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#stopLoop();
    await Promise.all(this.#asked.values());
  }

  async #look(): Promise<void> {
    const { hypervisor, store, logger } = this.#deps;
    try {
      const limited = await everyQuota(store);
      const disk = await hypervisor.disk();
      const sizes = await this.#measure(limited.keys.length + limited.shared.length > 0 || !hasSpaceToResume(disk));
      const troubles = await this.#troubles(sizes, disk, limited);
      for (const [sandboxId, trouble] of troubles) await this.#suspend(sandboxId, trouble);
      if (!hasSpaceToResume(disk)) return;
      for (const sandboxId of this.#suspended) if (!troubles.has(sandboxId)) await this.#resume(sandboxId);
    } catch (error) {
      logger.warn({ err: error }, 'the disk of this host could not be watched; it is tried again');
    } finally {
      this.#looks++;
    }
  }

  get #intervals() {
    return this.#deps.intervals ?? DEFAULT_INTERVALS;
  }

  /**
   * Measures, and writes to the store the usage that counts for each sandbox: its own, and that of its deleted
   * snapshots.
   * @param all measures all, because one may need suspension; else a few per poll
   * @returns only the own usage, by sandbox id, bytes: deleting a snapshot is no growth
   */
  async #measure(all: boolean): Promise<Map<string, number>> {
    const { hypervisor, ledger } = this.#deps;
    const ids = new Set(ledger.sandboxIds());
    const known = this.#measured.size;
    for (const id of this.#measured.keys()) if (!ids.has(id)) this.#measured.delete(id);
    const due = all ? [...ids] : this.#leastRecentlyMeasured([...ids]);
    if (due.length > 0 || this.#measured.size < known) {
      const held = await hypervisor.heldBytes(); // first: data merged in between counts twice, never zero times
      await Promise.all(
        due.map(async (id) => {
          const bytes = await hypervisor.diskBytes(id);
          this.#measured.set(id, { bytes, at: bytes > 0 ? performance.now() : -Infinity }); // zero: under construction
        }),
      );
      this.#untold = this.#sizes().map(([id, bytes]) => ({ id, bytes: bytes + (held.get(id) ?? 0) }));
    }
    if (all || this.#looks % REPORT_EVERY_POLLS === 0) await this.#reportUsage();
    return new Map(this.#sizes());
  }

  /** Writes unchanged measurements again after a while, with a new time. */
  async #reportUsage(): Promise<void> {
    const { store } = this.#deps;
    const { hostId } = this.#deps.observer;
    const sandboxes = this.#untold;
    if (!sandboxes) return;
    const [text, now] = [JSON.stringify(sandboxes), performance.now()];
    if (text !== this.#told.text || now - this.#told.at >= this.#intervals.measureMs) {
      await store.measuredDisks.describe({ hostId, measuredAt: new Date().toISOString(), sandboxes });
      this.#told = { text, at: now };
    }
    this.#untold = null;
  }

  #sizes(): [string, number][] {
    return [...this.#measured].filter(([, { bytes }]) => bytes > 0).map(([id, { bytes }]) => [id, bytes]);
  }

  #leastRecentlyMeasured(ids: string[]): string[] {
    const before = performance.now() - this.#intervals.measureMs;
    const at = (id: string) => this.#measured.get(id)?.at ?? -Infinity;
    const due = ids.filter((id) => at(id) < before).toSorted((a, b) => at(a) - at(b));
    return due.slice(0, MEASURED_AT_ONCE);
  }

  async #troubles(
    sizes: ReadonlyMap<string, number>,
    disk: HostDisk,
    limited: Limited,
  ): Promise<Map<string, SuspensionReason>> {
    const { hypervisor } = this.#deps;
    const troubles = await this.#overQuota(sizes, limited);
    const isLow = !hasSpaceToResume(disk);
    const why = `room on its host: ${formatFreeSpace(disk)}. Delete snapshots or sandboxes there; it goes on by itself then`;
    const trouble: SuspensionReason = { cause: 'host_disk_full', why };
    if (isFull(disk)) for (const id of this.#growth.during('host', sizes)) troubles.set(id, trouble);
    else this.#growth.over('host');
    if (isLow || this.#looks % QUERY_EVERY_POLLS === 0)
      for (const id of await hypervisor.stopped()) troubles.set(id, trouble);
    return troubles;
  }

  async #overQuota(
    sizes: ReadonlyMap<string, number>,
    { keys, shared }: Limited,
  ): Promise<Map<string, SuspensionReason>> {
    const { store } = this.#deps;
    const troubles = new Map<string, SuspensionReason>();
    if (keys.length + shared.length === 0) return troubles;
    const parts = await listStorageUse(store);
    const exceed = (id: string, excess: string) =>
      troubles.set(id, { cause: 'quota_exceeded', why: `room in a quota: ${excess}; it goes on by itself then` });
    const here = parts.filter(({ kind, id }) => kind === 'workspace' && sizes.has(id));
    for (const quota of shared) {
      const excess = excessOfShared(quota, parts);
      const ownSizes = new Map(here.filter(quota.counts).map(({ id }) => [id, sizes.get(id) ?? 0]));
      if (excess === null) this.#growth.over(quota.holder);
      else for (const id of this.#growth.during(quota.holder, ownSizes)) exceed(id, excess);
    }
    for (const { id: keyId, sandboxDiskBytes } of keys) {
      for (const { id } of here.filter(({ apiKeyId }) => apiKeyId === keyId)) {
        const excess = excessOfSandbox(sandboxDiskBytes, id, parts);
        if (excess !== null) exceed(id, excess);
      }
    }
    return troubles;
  }

  async #suspend(sandboxId: string, { cause, why }: SuspensionReason): Promise<void> {
    const record = await this.#deps.store.sandboxes.get(sandboxId);
    if (record?.state === 'paused' && record.stalledBy) this.#suspended.add(sandboxId);
    if (record?.state !== 'running') return;
    this.#deps.logger.warn({ sandboxId, cause, why }, 'a sandbox is stopped until there is room');
    this.#begin(sandboxId, { kind: 'suspend-for-space', operationId: newOperationId(), cause, why });
  }

  async #resume(sandboxId: string): Promise<void> {
    const { store, room, logger } = this.#deps;
    const record = await store.sandboxes.get(sandboxId);
    if (!(record?.state === 'paused' && record.stalledBy)) {
      this.#suspended.delete(sandboxId);
      return;
    }
    try {
      await room.check(sandboxId);
    } catch (error) {
      if (error instanceof MayflyError && (error.code === 'quota_exceeded' || error.code === 'host_disk_full')) return;
      throw error;
    }
    logger.info({ sandboxId }, 'a sandbox goes on: there is room again');
    this.#begin(sandboxId, { kind: 'resume-with-space', operationId: newOperationId() });
  }

  /** Runs one operation at a time per sandbox, concurrently with polls. */
  #begin(sandboxId: string, operation: Operation): void {
    if (this.#asked.has(sandboxId)) return;
    const asked = this.#operate(sandboxId, operation).finally(() => this.#asked.delete(sandboxId));
    this.#asked.set(sandboxId, asked);
  }

  /** An operation that is blocked now (by another, or by the end) is retried at the next poll. */
  async #operate(sandboxId: string, operation: Operation): Promise<void> {
    const { sagas, logger } = this.#deps;
    const { kind, operationId } = operation;
    const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(OPERATION_MS)]);
    if (kind === 'suspend-for-space') this.#suspended.add(sandboxId);
    try {
      await sagas.sandboxes.operate(sandboxId, operation);
      const failure = await sagas.sandboxes.operated(sandboxId, operationId, signal);
      if (failure) logger.warn({ sandboxId, kind, failure }, 'a sandbox stays as it is; it is tried again');
    } catch (error) {
      if (!this.#stopped.signal.aborted)
        logger.info({ err: error, sandboxId, kind }, 'it is tried again at the next look');
    }
  }
}

function newOperationId(): string {
  return operationIdFrom(randomBytes(ID_BYTES));
}
