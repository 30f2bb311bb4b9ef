import { Mutex } from 'async-mutex';
import { MayflyError } from '../../model/errors.ts';
import { sortReadyFirst } from '../../model/pools/preemption.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isUnclaimed } from '../../model/sandbox/sandbox-state.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { type StorageUsage, UNMEASURED_BYTES } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import { listStorageUse } from '../../store/stored-parts.ts';
import { diskQuotas, excessOfAny, isUnlimited } from './disk-quotas.ts';

/** Time by which the record of an admitted sandbox names its host. Milliseconds. */
const PLACED_AFTER_MS = 60_000;

/**
 * Admission to disk quotas, before anything is stored. Serialized by a mutex in the one control worker; admitted
 * sandboxes count at once, so of two that compete for the last room, one is refused.
 */
export class StorageAdmission {
  readonly #mutex = new Mutex();
  readonly #admitted = new Map<string, number>();

  constructor(private readonly store: Store) {}

  /** @throws MayflyError quota_exceeded */
  async sandbox(sandboxId: string, apiKeyId: string): Promise<void> {
    const quotas = await diskQuotas(this.store, { apiKeyId });
    if (isUnlimited(quotas)) return;
    await this.#mutex.runExclusive(async () => {
      this.#forgetPlaced();
      const parts = await listStorageUse(this.store, (id) => this.#admitted.has(id));
      const others = parts.filter(({ id }) => id !== sandboxId);
      refuse(excessOfAny(quotas, sandboxId, others, UNMEASURED_BYTES));
      this.#admitted.set(sandboxId, Date.now());
    });
  }

  /**
   * Returns the pool members that count in the quotas which refuse a sandbox; none when it would be refused without
   * them too, or is itself a pool member.
   */
  async membersInTheWay(sandboxId: string, apiKeyId: string): Promise<StoredMember[]> {
    const own = await this.store.sandboxes.get(sandboxId);
    if (own && isUnclaimed(own)) return [];
    const [quotas, parts, unclaimed] = await Promise.all([
      diskQuotas(this.store, { apiKeyId }),
      listStorageUse(this.store),
      this.store.poolMembers.unclaimed(),
    ]);
    const counted = parts.filter((part) => quotas.shared.some(({ counts }) => counts(part)));
    const members = unclaimed.filter(({ id }) => counted.some((part) => part.id === id));
    const others = parts.filter(({ id }) => id !== sandboxId && members.every((member) => member.id !== id));
    return excessOfAny(quotas, sandboxId, others, UNMEASURED_BYTES) === null ? sortReadyFirst(members) : [];
  }

  /**
   * Admits a snapshot, which counts like its sandbox's workspace until it is saved: for a moment twice, never zero
   * times.
   * @throws MayflyError quota_exceeded, snapshot_name_taken
   */
  async snapshot(record: SnapshotRecord): Promise<SnapshotRecord> {
    const { snapshots, sandboxes } = this.store;
    const sandbox = await sandboxes.get(record.sandboxId);
    if (!sandbox) return snapshots.create(record);
    const { project } = sandbox;
    const ofKey = ({ createdBy }: SnapshotRecord | SandboxRecord) => diskQuotas(this.store, { ...createdBy, project });
    const [taker, owner] = await Promise.all([ofKey(record), ofKey(sandbox)]);
    if (isUnlimited(taker) && isUnlimited(owner)) return snapshots.create(record);
    return this.#mutex.runExclusive(async () => {
      const parts = await listStorageUse(this.store);
      const expected = await this.#expected(record, sandbox, parts);
      const others = parts.filter(({ id }) => id !== record.id);
      refuse(excessOfAny({ ofEach: owner.ofEach, shared: taker.shared }, sandbox.id, others, expected.more));
      return snapshots.create(record, expected.bytes);
    });
  }

  /** Estimates the size of a snapshot, and how much of it is new: a disk layer is only reassigned. */
  async #expected(
    { hostId, kind }: SnapshotRecord,
    { id, spec }: SandboxRecord,
    parts: readonly StorageUsage[],
  ): Promise<{ bytes: number; more: number }> {
    const host = await this.store.hosts.get(hostId);
    const workspace = parts.find((part) => part.id === id)?.bytes ?? 0;
    const source = host?.sources.find(({ name }) => name === spec.source);
    const memoryMib = kind === 'full' ? (spec.memoryMib ?? source?.memoryMib ?? 0) : 0;
    const memory = memoryMib * 1_048_576;
    return { bytes: workspace + memory, more: (host?.kind === 'simulated' ? workspace : 0) + memory };
  }

  #forgetPlaced(): void {
    const oldest = Date.now() - PLACED_AFTER_MS;
    for (const [id, at] of this.#admitted) if (at < oldest) this.#admitted.delete(id);
  }
}

function refuse(excess: string | null): void {
  if (excess) throw new MayflyError('quota_exceeded', `${excess}.`);
}
