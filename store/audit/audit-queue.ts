import { z } from 'zod';
import { isMayflyError } from '../../model/errors.ts';
import { encryptedField } from '../../model/fields.ts';
import { type DocumentOf, repositoryOf } from '../repository/repository.ts';
import type { ChainKey } from './audit-chain.ts';
import { eventDigest, eventIdOf, withBrokenChainOnMissingKey } from './audit-documents.ts';

/** Event as it will be hashed. */
export interface EventBody {
  eventId: string;
  /** Canonical JSON, redacted. */
  body: string;
}

/** Chain that cannot be continued, and its queue. */
export interface AuditFault {
  /** Id of the sandbox or the source. */
  sandboxId: string;
  /** Reason why the oldest event waits. */
  why: string;
  /** Time since which it waits, ISO 8601. */
  since: string;
  /** Number of waiting events. */
  waiting: number;
}

const queuedEvent = z.object({
  sandboxId: z.string(),
  body: encryptedField(z.string()),
  place: z.string().describe('When it came, ISO 8601, and its number in the process that took it'),
  mac: z.string().describe('Proves that a holder of the key has put it here'),
  why: z.string(),
});
type QueuedDocument = DocumentOf<z.infer<typeof queuedEvent>>;

/** Most events from which faults are computed. */
const MAX_SCANNED = 10_000;

/**
 * Events whose chain could not take them, `_id` = `<sandboxId>/<digest of the event id>`. They are appended when the
 * chain can be continued. Normally empty, so that it may be read as a whole.
 */
export class AuditQueue extends repositoryOf({ collection: 'auditQueue', noun: 'an event', model: queuedEvent }) {
  /** Events that the store refused; they wait in this process. */
  readonly #held = new Map<string, QueuedDocument>();
  #puts = 0;

  /**
   * Queues an event; one that the store refuses is queued in this process. Idempotent.
   * @throws MayflyError store_unavailable
   */
  async put(key: ChainKey, sandboxId: string, { eventId, body }: EventBody, why: string): Promise<void> {
    const _id = `${sandboxId}/${eventDigest(eventId)}`;
    const place = `${new Date().toISOString()}/${String(this.#puts++).padStart(9, '0')}`;
    const document = this.encryption.sealed(_id, { sandboxId, place, body, mac: key.queued(sandboxId, body), why });
    try {
      await this.model.updateOne({ _id }, { $setOnInsert: document }, { upsert: true });
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) throw error;
      if (!this.#held.has(_id)) this.#held.set(_id, { _id, ...document });
    }
  }

  /**
   * Returns events that wait for a chain, in order of arrival, at most `limit`. Events that Mayfly did not queue are
   * skipped, stay, and show as a fault.
   * @param after `end` of the page before; empty: from the first
   * @returns `end`: end of this page; null for an empty page
   * @throws BrokenChain when an event was queued with a key that is missing here
   */
  async of(
    key: ChainKey,
    sandboxId: string,
    { after, limit }: { after: string; limit: number },
  ): Promise<{ events: EventBody[]; end: string | null }> {
    const found = await this.documents({ sandboxId, place: { $gt: after } }, { sort: { place: 1 }, limit });
    const held = [...this.#held.values()].filter((each) => each.sandboxId === sandboxId && each.place > after);
    const page = [...found, ...held].toSorted(byPlace).slice(0, limit);
    const events = page
      .flatMap((each) => withBrokenChainOnMissingKey(() => this.encryption.openedIfWhole(each)) ?? [])
      .filter(({ mac, body }) => mac === key.queued(sandboxId, body))
      .map(({ body }) => ({ eventId: eventIdOf(body) ?? '', body }));
    return { events, end: page.at(-1)?.place ?? null };
  }

  async remove(sandboxId: string, { eventId }: EventBody): Promise<void> {
    const _id = `${sandboxId}/${eventDigest(eventId)}`;
    if (this.#held.delete(_id)) return;
    await this.deleteOne({ _id });
  }

  async countOf(sandboxId: string): Promise<number> {
    const found = await this.documents({ sandboxId }, { only: { _id: 1 } });
    return found.length + [...this.#held.values()].filter((each) => each.sandboxId === sandboxId).length;
  }

  /** Returns the chains with waiting events, the one that has waited longest first. */
  async faults(): Promise<AuditFault[]> {
    const found = await this.documents({}, { limit: MAX_SCANNED, only: { sandboxId: 1, place: 1, why: 1 } });
    const faults = new Map<string, AuditFault>();
    for (const { sandboxId, place, why } of [...found, ...this.#held.values()].toSorted(byPlace)) {
      const fault = faults.get(sandboxId) ?? { sandboxId, why, since: place.split('/')[0] ?? place, waiting: 0 };
      faults.set(sandboxId, { ...fault, waiting: fault.waiting + 1 });
    }
    return [...faults.values()];
  }
}

function byPlace(a: Pick<QueuedDocument, 'place'>, b: Pick<QueuedDocument, 'place'>): number {
  return a.place < b.place ? -1 : 1;
}
