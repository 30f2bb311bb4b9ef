import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { currentRequestId } from '../../telemetry/request-id.ts';
import type { AuditHead, ChainKey } from './audit-chain.ts';
import { bodyOf, GENESIS } from './audit-chain.ts';
import { AuditCollections } from './audit-collections.ts';
import { entryId, eventDigest, eventIdOf, recentWith } from './audit-documents.ts';
import type { Verification } from './audit-verification.ts';
import { verifyChain } from './audit-verification.ts';

/** Chains whose end is remembered; the longest unused are forgotten first. */
const REMEMBERED_ENDS = 10_000;

interface ChainEnd {
  count: number;
  hash: string;
  /** Of the last entry, see EntryDocument. */
  recent: string[];
}

/**
 * The audit trail: one append-only chain per sandbox or source, each entry bound to the one before by a keyed hash, its head
 * kept in another collection. Only a process with the key appends and verifies; every other one reads.
 *
 * What this cannot see: who keeps an old head with its mac can cut the chain back to it and put that head back. Who
 * fears that copies heads to another place.
 */
export class Audit {
  readonly #stored: AuditCollections;
  readonly #key: ChainKey | null;
  readonly #ends = new Map<string, ChainEnd>();
  /** Of each chain that is being appended to, the last append. */
  readonly #appending = new Map<string, Promise<void>>();

  constructor(connection: Connection, key: ChainKey | null) {
    this.#stored = new AuditCollections(connection);
    this.#key = key;
  }

  /**
   * Adds the event to the sandbox's chain, and answers when both entry and head are acknowledged. The same `eventId`
   * again answers with the entry that is there. Among writers the unique `_id` decides; the loser takes the next number.
   * @throws MayflyError store_unavailable; internal without the key, or when the next number is taken by a forged entry
   */
  async append(sandboxId: string, event: AuditEvent): Promise<AuditEntry> {
    checkId(sandboxId);
    const key = this.#keyFor('append to');
    const entry = await this.#inTurn(sandboxId, () => this.#place(key, sandboxId, event));
    // Those of a chain that come together share this write; for one that was there already it may have been missing.
    await this.#stored.advance(sandboxId, key.head(sandboxId, entry.seq + 1, entry.hash));
    return entry;
  }

  /** One after another within this process: those who lose against each other read the whole end again. */
  async #inTurn<T>(sandboxId: string, place: () => Promise<T>): Promise<T> {
    const before = this.#appending.get(sandboxId) ?? Promise.resolve();
    const placed = before.then(place);
    const settled = placed.then(
      () => undefined,
      () => undefined, // told to its own caller
    );
    this.#appending.set(sandboxId, settled);
    try {
      return await placed;
    } finally {
      if (this.#appending.get(sandboxId) === settled) this.#appending.delete(sandboxId);
    }
  }

  /** Puts the entry at the end of the chain, unless it is there: the head does not know it yet. */
  async #place(key: ChainKey, sandboxId: string, event: AuditEvent): Promise<AuditEntry> {
    const body = bodyOf(onBehalf(event));
    for (;;) {
      const { count, hash, recent } = this.#takeEnd(sandboxId) ?? (await this.#readEnd(sandboxId, key));
      const present = await this.#present(sandboxId, count, recent, event.eventId);
      if (present) return present;

      const entry = key.entry(sandboxId, count, hash, body);
      const withThis = recentWith(recent, event.eventId);
      if (await this.#stored.insert(entry, withThis)) {
        this.#keepEnd(sandboxId, { count: count + 1, hash: entry.hash, recent: withThis });
        return entry;
      }
      const taken = await this.#stored.entry(sandboxId, count);
      if (!taken) continue; // taken a moment ago and gone: look again
      if (!key.isGenuine(taken)) throw forged(taken);
      if (eventIdOf(taken.body) === event.eventId) return taken;
      await this.#stored.advance(sandboxId, key.head(sandboxId, taken.seq + 1, taken.hash));
    }
  }

  /**
   * Where a chain ended when this process last wrote to it: saves two reads an append. Taken out before it is used, so
   * a failed append reads anew; another writer's entry is met at the insert.
   */
  #takeEnd(sandboxId: string): ChainEnd | undefined {
    const end = this.#ends.get(sandboxId);
    this.#ends.delete(sandboxId);
    return end;
  }

  #keepEnd(sandboxId: string, end: ChainEnd): void {
    this.#ends.set(sandboxId, end);
    const [oldest] = this.#ends.keys();
    if (this.#ends.size > REMEMBERED_ENDS && oldest) this.#ends.delete(oldest);
  }

  async #readEnd(sandboxId: string, key: ChainKey): Promise<ChainEnd> {
    // A head of length 0 is there before the first entry, so that entries without a head are never innocent.
    const { count, hash } = await this.#stored.begin(sandboxId, key.head(sandboxId, 0, GENESIS));
    const last = count > 0 ? await this.#stored.document(entryId(sandboxId, count - 1)) : null;
    return { count, hash, recent: last?.recent ?? [] };
  }

  /** How long the chain is, as its last writer said; null when nothing was ever appended. Not verified here. */
  async head(sandboxId: string): Promise<AuditHead | null> {
    checkId(sandboxId);
    return this.#stored.head(sandboxId);
  }

  /** Entries with a number above `after`, in order, at most `limit`. `@default` after -1: from the first. */
  async entries(sandboxId: string, range: { after?: number; limit: number }): Promise<AuditEntry[]> {
    const from = (range.after ?? -1) + 1;
    const count = (await this.head(sandboxId))?.count ?? 0;
    const wanted = Math.max(0, Math.min(count - from, range.limit));
    return this.#stored.entries(sandboxId, from, wanted);
  }

  /**
   * Reads one whole chain and says all that is wrong with it. May run while others append.
   * @throws MayflyError internal without the key
   */
  async verify(sandboxId: string): Promise<Verification> {
    checkId(sandboxId);
    const key = this.#keyFor('verify');
    const head = await this.#stored.headText(sandboxId);
    return verifyChain(key, sandboxId, head, await this.#stored.below(sandboxId));
  }

  /**
   * Verifies the chains of the given sandboxes, and of all others that left an entry or a head: a record that was
   * removed does not take its chain along. Scans the ids of all entries once.
   */
  async verifyAll(sandboxIds: readonly string[]): Promise<Map<string, Verification>> {
    const key = this.#keyFor('verify');
    const headTexts = await this.#stored.headTexts();
    const written = await this.#stored.sandboxIds();
    const results = new Map<string, Verification>();
    for (const id of new Set([...sandboxIds, ...headTexts.keys(), ...written])) {
      results.set(id, verifyChain(key, id, headTexts.get(id) ?? null, await this.#stored.below(id)));
    }
    return results;
  }

  async #present(
    sandboxId: string,
    count: number,
    recent: readonly string[],
    eventId: string,
  ): Promise<AuditEntry | null> {
    const index = recent.lastIndexOf(eventDigest(eventId));
    if (index < 0) return null;
    const entry = await this.#stored.entry(sandboxId, count - recent.length + index);
    return entry && eventIdOf(entry.body) === eventId ? entry : null;
  }

  #keyFor(purpose: string): ChainKey {
    if (this.#key) return this.#key;
    throw new MayflyError('internal', `This process was not given the audit key, so it cannot ${purpose} the audit.`);
  }
}

/** With the request on whose behalf it is appended, unless it says which it is of. */
function onBehalf(event: AuditEvent): AuditEvent {
  const requestId = currentRequestId();
  return requestId === undefined ? event : { ...event, detail: { requestId, ...event.detail } };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isAuditSubject(id))
    throw new MayflyError('invalid_id', 'That is not the id of a sandbox or a source.');
}

function forged(entry: AuditEntry): MayflyError {
  const where = entryId(entry.sandboxId, entry.seq);
  return new MayflyError(
    'internal',
    `The audit entry ${where} was not written by Mayfly, so nothing can be appended after it. ` +
      'Run `mayfly audit verify`, keep a copy of the collection `audit` as evidence, then remove that entry.',
  );
}
