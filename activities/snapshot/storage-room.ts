import type { Hypervisor } from '../../host/hypervisor.ts';
import { MayflyError } from '../../model/errors.ts';
import { assertSpace, sumBytes } from '../../model/snapshots/storage.ts';
import type { Store } from '../../store/connect.ts';
import { listStorageUse } from '../../store/stored-parts.ts';
import { diskQuotas, excessOfAny, isUnlimited } from './disk-quotas.ts';

interface StorageRoomDeps {
  hypervisor: Pick<Hypervisor, 'disk' | 'savedMemoryBytes'>;
  store: Pick<Store, 'sandboxes' | 'snapshots' | 'measuredDisks' | 'apiKeys' | 'projects'>;
}

/** Check whether a sandbox of this host may write more. */
export class StorageRoom {
  constructor(private readonly deps: StorageRoomDeps) {}

  /** @throws MayflyError host_disk_full, quota_exceeded */
  async check(sandboxId: string): Promise<void> {
    assertSpace(await this.deps.hypervisor.disk(), sandboxId);
    await this.#checkQuotas(sandboxId, 0);
  }

  /**
   * Checks that a hibernated sandbox may wake. Ignores the host's disk, since waking frees its saved memory there.
   * @throws MayflyError quota_exceeded
   */
  async checkAwake(sandboxId: string): Promise<void> {
    const freed = await this.deps.hypervisor.savedMemoryBytes(sandboxId);
    await this.#checkQuotas(sandboxId, -freed);
  }

  /**
   * Checks that its disk has room for the data of its snapshots; deleted snapshots that it holds count already.
   * @throws MayflyError host_disk_full, quota_exceeded
   */
  async checkFlat(sandboxId: string): Promise<void> {
    const { hypervisor, store } = this.deps;
    const saved = sumBytes((await store.snapshots.kept()).filter((part) => part.sandboxId === sandboxId));
    assertSpace(await hypervisor.disk(), sandboxId, saved);
    if (saved > 0) await this.#checkQuotas(sandboxId, saved);
  }

  /** @param more additional bytes; negative: freed */
  async #checkQuotas(sandboxId: string, more: number): Promise<void> {
    const { store } = this.deps;
    const record = await store.sandboxes.get(sandboxId);
    if (!record) return;
    const { apiKeyId } = record.createdBy;
    const quotas = await diskQuotas(store, { apiKeyId, project: record.project });
    if (isUnlimited(quotas)) return;
    const excess = excessOfAny(quotas, sandboxId, await listStorageUse(store), more);
    if (excess) throw new MayflyError('quota_exceeded', `${excess}.`);
  }
}
