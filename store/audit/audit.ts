import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import type { AuditEntry, AuditEvent } from '../../model/sandbox/audit.ts';
import { currentRequestId } from '../../telemetry/request-id.ts';
import type { AuditHead, ChainKey } from './audit-chain.ts';
import { BrokenChain, bodyOf, GENESIS } from './audit-chain.ts';
import { AuditCollections } from './audit-collections.ts';
import { entryId, eventDigest, eventIdOf, recentWith } from './audit-documents.ts';
import { type AuditFault, AuditQueue, type EventBody } from './audit-queue.ts';
import type { Verification } from './audit-verification.ts';
import { verifyChain } from './audit-verification.ts';
import { type ChainEnd, ChainEnds } from './chain-ends.ts';

/** Events that wait are read so many at a time. */
const WAITING_AT_ONCE = 100;

/**
 * The audit trail: one append-only chain per sandbox or source, each entry bound to the one before by a keyed hash, its head
 * kept in another collection. Only a process with the key appends and verifies; every other one reads.
 *
 * What this cannot see: who keeps an old head with its mac can cut the chain back to it and put that head back. Who
 * fears that copies heads to another place.
 */
export class Audit {
  readonly #stored: AuditCollections;
  readonly #queue: AuditQueue;
  readonly #key: ChainKey | null;
  readonly #ends = new ChainEnds();
  /** Of each chain that is being appended to, the last append. */
  readonly #appending = new Map<string, Promise<unknown>>();
  /** Chains for which something waits, as far as this process knows. */
  readonly #awaited = new Set<string>();

  constructor(connection: Connection, key: ChainKey | null) {
    this.#stored = new AuditCollections(connection);
    this.#queue = new AuditQueue(connection);
    this.#key = key;
  }

  /**
   * Adds the event to the sandbox's chain, and answers when both entry and head are acknowledged. The same `eventId`
   * again answers with the entry that is there. Among writers the unique `_id` decides; the loser takes the next number.
   * @throws MayflyError store_unavailable; internal without the key
   * @throws BrokenChain when the next number is taken by a forged entry, or the head is not one of ours
   */
  async append(sandboxId: string, event: AuditEvent): Promise<AuditEntry> {
    checkId(sandboxId);
    return this.#append(this.#keyFor('append to'), sandboxId, eventBody(event));
  }

  /**
   * As {@link append}; where the chain can't be continued the event waits in the store until it can, behind those that
   * wait already. So a fault of the audit stops nobody.
   * @returns why it waits; null when it was appended
   * @throws MayflyError store_unavailable; internal without the key
   */
  async record(sandboxId: string, event: AuditEvent): Promise<string | null> {
    checkId(sandboxId);
    const key = this.#keyFor('append to');
    const waiting = eventBody(event);
    try {
      if (this.#awaited.has(sandboxId)) await this.#appendWaitingOf(key, sandboxId);
      await this.#append(key, sandboxId, waiting);
      return null;
    } catch (error) {
      if (!(error instanceof BrokenChain)) throw error;
      await this.#queue.put(key, sandboxId, waiting, error.message);
      this.#awaited.add(sandboxId);
      return error.message;
    }
  }

  /** The chains for which events wait, as of now. */
  async faults(): Promise<AuditFault[]> {
    return this.#queue.faults();
  }

  /**
   * Appends what waits, where that can be done now. It may be cut short at any point: an event is appended once.
   * @returns the sandboxes and sources for which nothing waits any more
   */
  async appendWaiting(): Promise<string[]> {
    const key = this.#keyFor('append to');
    const over: string[] = [];
    for (const { sandboxId } of await this.#queue.faults()) {
      try {
        await this.#appendWaitingOf(key, sandboxId);
        over.push(sandboxId);
      } catch (error) {
        if (!(error instanceof BrokenChain)) throw error;
        this.#awaited.add(sandboxId);
      }
    }
    return over;
  }

  /** @throws BrokenChain at the first that can't be appended */
  async #appendWaitingOf(key: ChainKey, sandboxId: string): Promise<void> {
    for (let after: string | null = ''; after !== null; ) {
      const page = await this.#queue.of(key, sandboxId, { after, limit: WAITING_AT_ONCE });
      for (const event of page.events) {
        await this.#append(key, sandboxId, event);
        await this.#queue.remove(sandboxId, event);
      }
      after = page.end;
    }
    this.#awaited.delete(sandboxId);
  }

  async #append(key: ChainKey, sandboxId: string, event: EventBody): Promise<AuditEntry> {
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
  async #place(key: ChainKey, sandboxId: string, { eventId, body }: EventBody): Promise<AuditEntry> {
    for (;;) {
      const { count, hash, recent } = this.#ends.take(sandboxId) ?? (await this.#readEnd(sandboxId, key));
      const present = await this.#present(sandboxId, count, recent, eventId);
      if (present) return present;

      const entry = key.entry(sandboxId, count, hash, body);
      const withThis = recentWith(recent, eventId);
      if (await this.#stored.insert(entry, withThis)) {
        this.#ends.keep(sandboxId, { count: count + 1, hash: entry.hash, recent: withThis });
        return entry;
      }
      const taken = await this.#stored.entry(sandboxId, count);
      if (!taken) continue; // taken a moment ago and gone: look again
      if (!key.isGenuine(taken)) throw forged(taken);
      if (eventIdOf(taken.body) === eventId) return taken;
      await this.#stored.advance(sandboxId, key.head(sandboxId, taken.seq + 1, taken.hash));
    }
  }

  async #readEnd(sandboxId: string, key: ChainKey): Promise<ChainEnd> {
    // A head of length 0 is there before the first entry, so that entries without a head are never innocent.
    const head = await this.#stored.begin(sandboxId, key.head(sandboxId, 0, GENESIS));
    if (!key.isGenuineHead(sandboxId, head)) {
      throw new BrokenChain(`The head of the audit of ${sandboxId} was not written by Mayfly, or with another key.`);
    }
    const { count, hash } = head;
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
    const state = await this.#stored.state(sandboxId);
    const verification = verifyChain(key, sandboxId, state, await this.#stored.below(sandboxId));
    return withWaiting(verification, await this.#queue.countOf(sandboxId));
  }

  /**
   * Verifies the chains of the given sandboxes, and of all others that left an entry, a head or an event that waits: a
   * record that was removed does not take its chain along. Scans the ids of all entries once.
   */
  async verifyAll(sandboxIds: readonly string[]): Promise<Map<string, Verification>> {
    const key = this.#keyFor('verify');
    const states = await this.#stored.states();
    const written = await this.#stored.sandboxIds();
    const waiting = new Map((await this.faults()).map((fault) => [fault.sandboxId, fault.waiting]));
    const results = new Map<string, Verification>();
    for (const id of new Set([...sandboxIds, ...states.keys(), ...written, ...waiting.keys()])) {
      const verification = verifyChain(key, id, states.get(id) ?? { head: null }, await this.#stored.below(id));
      results.set(id, withWaiting(verification, waiting.get(id) ?? 0));
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
/** What is chained of an event, with the request on whose behalf it happened. */
function eventBody(event: AuditEvent): EventBody {
  return { eventId: event.eventId, body: bodyOf(onBehalf(event)) };
}

function onBehalf(event: AuditEvent): AuditEvent {
  const requestId = currentRequestId();
  return requestId === undefined ? event : { ...event, detail: { requestId, ...event.detail } };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isAuditSubject(id))
    throw new MayflyError('invalid_id', 'That is not the id of a sandbox or a source.');
}

function withWaiting(verification: Verification, waiting: number): Verification {
  return waiting === 0 ? verification : { ...verification, waiting };
}

function forged(entry: AuditEntry): BrokenChain {
  const where = entryId(entry.sandboxId, entry.seq);
  return new BrokenChain(
    `The audit entry ${where} was not written by Mayfly, so nothing can be appended after it. ` +
      'Run `mayfly audit verify`, keep a copy of the collection `audit` as evidence, then remove that entry.',
  );
}
