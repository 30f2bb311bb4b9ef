import type { Connection, Model } from 'mongoose';
import { isMayflyError } from '../../model/errors.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { ChainKey } from './audit-chain.ts';
import { eventDigest, eventIdOf, unlessLocked } from './audit-documents.ts';

/** An event as it will be hashed. */
export interface EventBody {
  eventId: string;
  /** Canonical JSON, redacted. */
  body: string;
}

/** A chain that can't be continued, and what waits for that. */
export interface AuditFault {
  /** Of the sandbox, or of the source. */
  sandboxId: string;
  /** Why the oldest event waits. */
  why: string;
  /** Since when it waits, ISO 8601. */
  since: string;
  /** How many events wait. */
  waiting: number;
}

/** `_id` = `<sandboxId>/<digest of the event id>`: an event waits once, however often it is handed over. */
interface QueuedDocument {
  _id: string;
  sandboxId: string;
  body: string;
  /** When it came, ISO 8601, and its number in the process that took it. */
  place: string;
  /** Proves that a holder of the key has put it here. */
  mac: string;
  why: string;
}

/** As many faults are told of at once, by their events. */
const LOOKED_AT = 10_000;

/**
 * Events that no chain could take when they came. They are appended when it can be continued. Normally empty, so that it
 * may be read as a whole.
 */
export class AuditQueue {
  readonly #model: Model<QueuedDocument>;
  readonly #fields: SealedFields;
  /** Events that the store refused to keep; they wait in this process. */
  readonly #held = new Map<string, QueuedDocument>();
  #puts = 0;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('auditQueue');
    const schema = strictSchema<QueuedDocument>({
      _id: NAME,
      sandboxId: NAME,
      place: NAME,
      body: SEALED,
      mac: NAME,
      why: NAME,
    });
    this.#model = connection.model<QueuedDocument>('QueuedEvent', schema, 'auditQueue');
  }

  /** Resolves when it is kept; a store that is there and refuses it has it kept in this process. Again, it changes nothing. */
  async put(key: ChainKey, sandboxId: string, { eventId, body }: EventBody, why: string): Promise<void> {
    const _id = `${sandboxId}/${eventDigest(eventId)}`;
    const place = `${new Date().toISOString()}/${String(this.#puts++).padStart(9, '0')}`;
    const document = this.#fields.sealed(_id, { sandboxId, place, body, mac: key.queued(sandboxId, body), why });
    try {
      await reaching('keep an event for the audit', () =>
        this.#model.updateOne({ _id }, { $setOnInsert: document }, { upsert: true }),
      );
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) throw error;
      if (!this.#held.has(_id)) this.#held.set(_id, { _id, ...document });
    }
  }

  /**
   * What waits for a chain, in the order in which it came, at most `limit`. What was not put there by Mayfly stays where
   * it is, and shows as a fault.
   * @throws BrokenChain when it was put there with a key that is not here
   * @param after where the page before ended; empty: from the first
   * @returns `end`: where this page ends; null when there was nothing
   */
  async of(
    key: ChainKey,
    sandboxId: string,
    { after, limit }: { after: string; limit: number },
  ): Promise<{ events: EventBody[]; end: string | null }> {
    const found = await reaching('read what waits for the audit', () =>
      this.#model
        .find({ sandboxId, place: { $gt: after } })
        .sort({ place: 1 })
        .limit(limit)
        .lean<QueuedDocument[]>(),
    );
    const held = [...this.#held.values()].filter((each) => each.sandboxId === sandboxId && each.place > after);
    const page = [...found, ...held].toSorted(byPlace).slice(0, limit);
    const events = page
      .flatMap((each) => unlessLocked(() => this.#fields.openedIfWhole(each)) ?? [])
      .filter(({ mac, body }) => mac === key.queued(sandboxId, body))
      .map(({ body }) => ({ eventId: eventIdOf(body) ?? '', body }));
    return { events, end: page.at(-1)?.place ?? null };
  }

  async remove(sandboxId: string, { eventId }: EventBody): Promise<void> {
    const _id = `${sandboxId}/${eventDigest(eventId)}`;
    if (this.#held.delete(_id)) return;
    await reaching('forget an event that was appended', () => this.#model.deleteOne({ _id }));
  }

  /** How many wait for a chain. */
  async countOf(sandboxId: string): Promise<number> {
    const found = await reaching('count what waits for the audit', () =>
      this.#model.find({ sandboxId }, { _id: 1 }).lean(),
    );
    return found.length + [...this.#held.values()].filter((each) => each.sandboxId === sandboxId).length;
  }

  /** The chains for which something waits, the one that has waited longest first. */
  async faults(): Promise<AuditFault[]> {
    const found = await reaching('read what waits for the audit', () =>
      this.#model.find({}, { sandboxId: 1, place: 1, why: 1 }).limit(LOOKED_AT).lean<QueuedDocument[]>(),
    );
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
