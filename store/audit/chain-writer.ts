import type { AuditEntry, AuditKind } from '../../model/sandbox/audit.ts';
import { RecentMap } from '../mongo/recent-map.ts';
import { BrokenChain } from '../register/broken-chain.ts';
import type { ChainMark } from '../register/facts.ts';
import type { Register } from '../register/register.ts';
import { type ChainKey, GENESIS } from './audit-chain.ts';
import type { AuditCollections } from './audit-collections.ts';
import { entryId, eventDigest, eventIdOf, kindOf, recentWith } from './audit-documents.ts';
import type { EventBody } from './audit-queue.ts';

/** What a sandbox's chain begins with: when it is asked for, and when the store was set back to a time before that. */
const BEGINNINGS: ReadonlySet<string> = new Set<AuditKind>(['sandbox.requested', 'sandbox.record-restored']);

/** An append looks so often for the end of a chain that comes no further, then it is broken. */
const MOST_LOOKS = 20;

interface ChainEnd {
  count: number;
  hash: string;
  /** Of the last entry, see EntryDocument. */
  recent: string[];
}

/** Chains whose end is remembered; the longest unused are forgotten first. */
const REMEMBERED = 10_000;

/** Appends to chains, and has the register know of each before anything of it counts as written. */
export class ChainWriter {
  /**
   * Where chains ended when this process last wrote to them: saves two reads an append. Taken out before it is used, so that a
   * failed append reads anew; another writer's entry is met at the insert.
   */
  readonly #ends = new RecentMap<ChainEnd>(REMEMBERED);
  /** Of each chain that is being appended to, the last append. */
  readonly #appending = new Map<string, Promise<unknown>>();
  /** The chains that have come further than this process has told the register. */
  readonly #advanced = new Map<string, ChainMark>();

  constructor(
    private readonly stored: AuditCollections,
    private readonly key: ChainKey,
    private readonly register: Register,
  ) {}

  /**
   * Resolves when entry, birth and head are written, in this order: a head of a length speaks of a chain that is in the
   * register. It is written while that is anchored.
   * @throws BrokenChain
   */
  async append(sandboxId: string, event: EventBody): Promise<AuditEntry> {
    const entry = await this.#inTurn(sandboxId, () => this.#place(sandboxId, event));
    const count = entry.seq + 1;
    // Those of a chain that come together share this write; for one that was there already it may have been missing.
    const advance = () => this.stored.advance(sandboxId, this.key.head(sandboxId, count, entry.hash));
    if (this.register.births.knows(sandboxId)) await advance();
    else await this.register.bear(sandboxId, await this.#firstHash(entry), advance);
    const furthest = this.#advanced.get(sandboxId)?.count ?? 0;
    if (count > furthest) this.#advanced.set(sandboxId, { subject: sandboxId, count, hash: entry.hash });
    return entry;
  }

  /** Tells the register how far the chains have come that this process has appended to since the last time. */
  async noteHeads(): Promise<void> {
    await Promise.all(
      [...this.#advanced.values()].map(async (mark) => {
        await this.register.add({ kind: 'head', ...mark });
        if (this.#advanced.get(mark.subject) === mark) this.#advanced.delete(mark.subject);
      }),
    );
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
  async #place(sandboxId: string, event: EventBody): Promise<AuditEntry> {
    const { eventId, body } = event;
    for (let [furthest, stuck] = [-1, 0]; stuck < MOST_LOOKS; ) {
      const { count, hash, recent } = this.#ends.take(sandboxId) ?? (await this.#readEnd(sandboxId, event));
      stuck = count > furthest ? 0 : stuck + 1;
      furthest = Math.max(furthest, count);
      const present = await this.#present(sandboxId, count, recent, eventId);
      if (present) return present;

      const entry = this.key.entry(sandboxId, count, hash, body);
      const withThis = recentWith(recent, eventId);
      if (await this.stored.insert(entry, withThis)) {
        this.#ends.set(sandboxId, { count: count + 1, hash: entry.hash, recent: withThis });
        return entry;
      }
      const taken = await this.stored.entry(sandboxId, count);
      if (!taken) continue; // taken a moment ago and gone: look again
      const isNext = taken.sandboxId === sandboxId && taken.seq === count && taken.previousHash === hash;
      if (!isNext || !this.key.isGenuine(taken)) throw forged(sandboxId, count);
      if (eventIdOf(taken.body) === eventId) return taken;
      await this.stored.advance(sandboxId, this.key.head(sandboxId, count + 1, taken.hash));
    }
    throw new BrokenChain(`The audit of ${sandboxId} does not go on: its store takes neither an entry nor a new head.`);
  }

  async #readEnd(sandboxId: string, event: EventBody): Promise<ChainEnd> {
    // A head of length 0 is there before the first entry, so that entries without a head are never innocent.
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
   * A chain begins once. One whose sandbox has run, or that the register knows with another first entry, was there before
   * and is gone. A sandbox whose record was lost with the chain, as in a store that was set back, says so with its first event.
   */
  async #checkBeginning(sandboxId: string, born: string | null, event: EventBody): Promise<void> {
    if (born === null && isBeginning(event)) return;
    const [first, hasRun] = await Promise.all([
      this.stored.entry(sandboxId, 0),
      born === null && this.stored.hasRun(sandboxId),
    ]);
    if (born === null && first) return; // its writer was cut short before the birth
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

  async #present(
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

function forged(sandboxId: string, seq: number): BrokenChain {
  return new BrokenChain(
    `The audit entry ${entryId(sandboxId, seq)} was not written by Mayfly, or stood elsewhere, so nothing can be appended after it. ` +
      'Run `mayfly audit verify`, keep a copy of the collection `audit` as evidence, then remove that entry.',
  );
}
