import { MayflyError } from '../../model/errors.ts';
import { instant } from '../../model/fields.ts';
import { HOST_STALE_SECONDS, type HostOrders, type HostRecord, isLive, type StoredHost } from '../../model/host.ts';
import { hostRecord } from '../../model/host-record.ts';
import { isHostId } from '../../model/ids.ts';
import { isDuplicateKey } from '../mongo/failure.ts';
import { storeTime } from '../mongo/store-clock.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';

type HostDocument = DocumentOf<HostRecord> & { claimedAt: string | null };

/** Claim of a worker to serve a host id. */
type HostClaim = Pick<HostRecord, 'id' | 'installationId' | 'kind' | 'hostUuid' | 'startedAt'>;

/** Hosts as described by their workers, with the orders of operators; `_id` = host id. */
export class Hosts extends repositoryOf({
  collection: 'hosts',
  noun: 'a host',
  isId: isHostId,
  model: hostRecord,
  internal: { claimedAt: instant.nullable() },
}) {
  /**
   * Claims a host id for a worker by an epoch higher than any before, which fences off the previous worker.
   * @returns the epoch
   * @throws MayflyError host_taken when a live worker of another installation serves it
   */
  async claim({ id, ...claim }: HostClaim): Promise<number> {
    this.checked(id);
    for (;;) {
      const [found, now] = await Promise.all([this.#find(id), this.now()]);
      if (found) assertClaimable(found, { id, ...claim }, now);
      const epoch = (found?.epoch ?? 0) + 1;
      const seen = { epoch: found?.epoch ?? { $exists: false } };
      const set = { ...claim, epoch, claimedAt: now.toISOString() };
      try {
        const filter = { _id: id, ...seen };
        const { matchedCount, upsertedCount } = await this.model.updateOne(
          filter,
          { $set: set },
          { upsert: found === null },
        );
        if (matchedCount + upsertedCount > 0) return epoch;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error; // another worker has claimed it in between
      }
    }
  }

  /** Releases a host id, so that another worker may claim it at once. No effect for a fenced worker. */
  async leave({ id, epoch }: Pick<HostRecord, 'id' | 'epoch'>): Promise<void> {
    await this.set({ _id: this.checked(id), epoch }, { claimedAt: null });
  }

  /**
   * Replaces the worker's description; an operator's orders stay. `lastSeenAt` is by the store's clock, since a host's
   * may be wrong.
   * @throws MayflyError host_taken when another worker has claimed it since
   */
  async describe(described: Omit<HostRecord, 'lastSeenAt'> & { lastSeenAt?: string }): Promise<void> {
    const { id, epoch, drainedAt: _drained, forgottenAt: _forgotten, ...rest } = described;
    this.checked(id);
    const lastSeenAt = rest.lastSeenAt ?? (await this.now()).toISOString();
    const set = { ...rest, lastSeenAt, claimedAt: lastSeenAt };
    try {
      await this.model.updateOne({ _id: id, epoch }, { $set: set }, { upsert: true, runValidators: true });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      throw new MayflyError(
        'host_taken',
        `Another host worker serves ${id} since; this one, of epoch ${epoch}, is fenced off.`,
      );
    }
  }

  /** Records an operator's orders. @returns null for an unknown host */
  async order(id: string, orders: HostOrders): Promise<StoredHost | null> {
    const [found, now] = await Promise.all([this.setAndRead({ _id: this.checked(id) }, orders), this.now()]);
    return found && isDescribed(found) ? withSilence(found, now) : null;
  }

  /** Lists hosts by id, except decommissioned ones that have been silent since. */
  async list(): Promise<StoredHost[]> {
    const [found, now] = await Promise.all([this.find({}), this.now()]);
    return found
      .filter(isDescribed)
      .filter(({ forgottenAt, lastSeenAt }) => !forgottenAt || lastSeenAt > forgottenAt)
      .map((host) => withSilence(host, now))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<StoredHost | null> {
    const [found, now] = await Promise.all([this.findById(id), this.now()]);
    return found && isDescribed(found) ? withSilence(found, now) : null;
  }

  /** Returns the time by the store's clock, which decides whether hosts are live. */
  now(): Promise<Date> {
    return storeTime(this.connection);
  }

  #find(id: string): Promise<HostDocument | null> {
    return this.model.findById(this.checked(id)).lean<HostDocument>().exec();
  }
}

/** Returns false for a host that was claimed but has not described itself yet. */
function isDescribed({ capacity }: HostRecord): boolean {
  return capacity !== undefined;
}

function withSilence(host: HostRecord, now: Date): StoredHost {
  return { ...host, silentMs: now.getTime() - Date.parse(host.lastSeenAt) };
}

function assertClaimable(found: HostDocument, claim: HostClaim, now: Date): void {
  const { installationId, kind, lastSeenAt, claimedAt } = found;
  if (installationId === claim.installationId) return;
  const silentMs = claimedAt ? now.getTime() - Date.parse(claimedAt) : Number.POSITIVE_INFINITY;
  if (!isLive({ silentMs })) return;
  const seen = `${installationId} (${kind}) serves the host ${claim.id}, and was heard of at ${claimedAt ?? lastSeenAt}`;
  const remedy = `Give this machine another MAYFLY_HOST_ID, or stop that worker, or wait until it was silent for ${HOST_STALE_SECONDS} s.`;
  throw new MayflyError('host_taken', `Another installation, ${seen}. ${remedy}`);
}
