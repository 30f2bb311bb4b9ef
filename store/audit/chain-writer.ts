import type { AuditEntry, AuditKind } from '../../model/sandbox/audit.ts';
import { BoundedMap } from '../mongo/recent-map.ts';
import { BrokenChain } from '../register/broken-chain.ts';
import type { ChainMark } from '../register/facts.ts';
import type { TransparencyLog } from '../register/register.ts';
import { type ChainKey, GENESIS } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import { entryId, eventDigest, eventIdOf, kindOf, recentWith } from './audit-documents.ts';
import type { EventBody } from './audit-queue.ts';

/**
 * Kinds of a chain's first event: the request, and the restored record after the store was set back to a time before
 * that.
 */
const BEGINNINGS: ReadonlySet<string> = new Set<AuditKind>(['sandbox.requested', 'sandbox.record-restored']);

/** Reads of a chain's end without progress after which an append fails. */
const MAX_ATTEMPTS = 20;

interface ChainEnd {
  count: number;
  hash: string;
  /** Digests as in `EntryDocument.recent` of the last entry. */
  recent: string[];
}

/** Cached ends of chains; beyond that the least recently changed are dropped. */
const CACHE_SIZE = 10_000;

/** Appends to chains, and records each in the register before any of its entries counts as written. */
export class ChainWriter {
  /**
   * Cached ends of chains that this process has written: saves two reads an append. An end is taken out before use, so
   * that a failed append reads again; an entry of another writer conflicts at the insert.
   */
  readonly #ends = new BoundedMap<ChainEnd>(CACHE_SIZE);
  /** Last append in progress of each chain. */
  readonly #appending = new Map<string, Promise<unknown>>();
  /** Lengths that this process has not recorded in the register yet. */
  readonly #advanced = new Map<string, ChainMark>();

  constructor(
    private readonly stored: AuditCollections,
    private readonly key: ChainKey,
    private readonly register: TransparencyLog,
  ) {}

  /**
   * Resolves when entry, birth and head are written, in this order: a head of a positive length implies that the chain
   * is in the register. The head is written while the register is anchored.
   * @throws BrokenChain
   */
  async append(sandboxId: string, event: EventBody): Promise<AuditEntry> {
    const entry = await this.#serialize(sandboxId, () => this.#insertAtEnd(sandboxId, event));
    const count = entry.seq + 1;
    // Concurrent appends to a chain share this write; for an existing entry it may have been missing.
    const advance = () => this.stored.advance(sandboxId, this.key.head(sandboxId, count, entry.hash));
    if (this.register.births.knows(sandboxId)) await advance();
    else await this.register.bear(sandboxId, await this.#firstHash(entry), advance);
    const furthest = this.#advanced.get(sandboxId)?.count ?? 0;
    if (count > furthest) this.#advanced.set(sandboxId, { subject: sandboxId, count, hash: entry.hash });
    return entry;
  }

  /** Records in the register the lengths of chains to which this process has appended since the last call. */
  async noteHeads(): Promise<void> {
    await Promise.all(
      [...this.#advanced.values()].map(async (mark) => {
        await this.register.add({ kind: 'head', ...mark });
        if (this.#advanced.get(mark.subject) === mark) this.#advanced.delete(mark.subject);
      }),
    );
  }

  /** Serializes appends to a chain within this process: a writer that loses to another reads the whole end again. */
  async #serialize<T>(sandboxId: string, place: () => Promise<T>): Promise<T> {
    const before = this.#appending.get(sandboxId) ?? Promise.resolve();
    const placed = before.then(place);
    const settled = placed.then(
      () => undefined,
      () => undefined, // reported to its own caller
    );
    this.#appending.set(sandboxId, settled);
    try {
      return await placed;
    } finally {
      if (this.#appending.get(sandboxId) === settled) this.#appending.delete(sandboxId);
    }
  }

  /** Inserts the entry at the end of the chain, unless it exists: the head may not include it yet. */
  async #insertAtEnd(sandboxId: string, event: EventBody): Promise<AuditEntry> {
    const { eventId, body } = event;
    for (let [furthest, stuck] = [-1, 0]; stuck < MAX_ATTEMPTS; ) {
      const { count, hash, recent } = this.#ends.take(sandboxId) ?? (await this.#readEnd(sandboxId, event));
      stuck = count > furthest ? 0 : stuck + 1;
      furthest = Math.max(furthest, count);
      const present = await this.#findDuplicate(sandboxId, count, recent, eventId);
      if (present) return present;

      const entry = this.key.entry(sandboxId, count, hash, body);
      const recentIncludingThis = recentWith(recent, eventId);
      if (await this.stored.insert(entry, recentIncludingThis)) {
        this.#ends.set(sandboxId, { count: count + 1, hash: entry.hash, recent: recentIncludingThis });
        return entry;
      }
      const taken = await this.stored.entry(sandboxId, count);
      if (!taken) continue; // taken a moment ago and removed: read again
      const isNext = taken.sandboxId === sandboxId && taken.seq === count && taken.previousHash === hash;
      if (!isNext || !this.key.isGenuine(taken)) throw forgedEntryError(sandboxId, count);
      if (eventIdOf(taken.body) === eventId) return taken;
      await this.stored.advance(sandboxId, this.key.head(sandboxId, count + 1, taken.hash));
    }
    throw new BrokenChain(`The audit of ${sandboxId} does not go on: its store takes neither an entry nor a new head.`);
  }

  async #readEnd(sandboxId: string, event: EventBody): Promise<ChainEnd> {
    // A head of length 0 precedes the first entry, so that entries without a head always prove tampering.
    const begin = () => this.stored.begin(sandboxId, this.key.head(sandboxId, 0, GENESIS));
    const [present, first] = await Promise.all([
      isBeginning(event) ? begin() : this.stored.head(sandboxId),
      this.register.births.of(sandboxId),
    ]);
    if (first !== null) this.register.births.remember(sandboxId);
    if ((present?.count ?? 0) === 0) await this.#checkBeginning(sandboxId, first, event);
    const head = present ?? (await begin());
    if (!this.key.isGenuineHead(sandboxId, head)) {
      throw new BrokenChain(`The head of the audit of ${sandboxId} was not written by Mayfly, or with another key.`);
    }
    const { count, hash } = head;
    return { count, hash, recent: count > 0 ? await this.stored.recent(sandboxId, count - 1) : [] };
  }

  /**
   * Checks that a chain begins once. If its sandbox has run, or the register has another first entry, the chain existed
   * and is lost. A sandbox whose record was lost with the chain, as in a store that was set back, begins with an event
   * for that.
   */
  async #checkBeginning(sandboxId: string, born: string | null, event: EventBody): Promise<void> {
    if (born === null && isBeginning(event)) return;
    const [first, hasRun] = await Promise.all([
      this.stored.entry(sandboxId, 0),
      born === null && this.stored.hasRun(sandboxId),
    ]);
    if (born === null && first) return; // its writer was interrupted before the birth
    if (born === null ? !hasRun : first?.hash === born) return;
    throw new BrokenChain(
      `The audit of ${sandboxId} has begun before, and is not there any more, so it is not begun again. ` +
        'Run `mayfly audit verify`; put its entries and its head back from a backup of the collections `audit` and `auditHeads`.',
    );
  }

  async #firstHash({ sandboxId, seq, hash }: AuditEntry): Promise<string | null> {
    if (seq === 0) return hash;
    return (await this.stored.entry(sandboxId, 0))?.hash ?? null;
  }

  async #findDuplicate(
    sandboxId: string,
    count: number,
    recent: readonly string[],
    eventId: string,
  ): Promise<AuditEntry | null> {
    const index = recent.lastIndexOf(eventDigest(eventId));
    if (index < 0) return null;
    const entry = await this.stored.entry(sandboxId, count - recent.length + index);
    return entry && eventIdOf(entry.body) === eventId ? entry : null;
  }
}

function isBeginning({ body }: EventBody): boolean {
  return BEGINNINGS.has(kindOf(body) ?? '');
}

function forgedEntryError(sandboxId: string, seq: number): BrokenChain {
  return new BrokenChain(
    `The audit entry ${entryId(sandboxId, seq)} was not written by Mayfly, or stood elsewhere, so nothing can be appended after it. ` +
      'Run `mayfly audit verify`, keep a copy of the collection `audit` as evidence, then remove that entry.',
  );
}
