import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isDuplicateKey, withStoreErrors } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { modelOf } from '../mongo/model.ts';
import { pagesOf } from '../mongo/pages.ts';
import type { Anchor, AnchorTip } from './anchor.ts';
import { GenesisIndex } from './births.ts';
import { BrokenChain } from './broken-chain.ts';
import type { KeyMark, RegisterBody, RegisterDocument, RegisterFact } from './facts.ts';
import { numberOf, numberText, registerSchema } from './facts.ts';
import { GENESIS, type RegisterKey } from './register-key.ts';
import { LogVerification, MOST_UNANCHORED } from './register-walk.ts';

/** Entries read at a time. */
const PAGE = 500;
const NOTHING: AnchorTip = { number: -1, hash: GENESIS, at: '' };

interface RegisterEnd extends AnchorTip {
  /** Facts that the next entry must include. */
  first: RegisterFact[];
}

interface PendingFact {
  fact: RegisterFact;
  /** Runs when the fact is in the store, during the anchoring. */
  beside: () => Promise<void>;
}

const NO_OP = async (): Promise<void> => {};

/**
 * Register of an installation, a transparency log: one chain of keyed entries that records the birth of each audit
 * chain, its length at times, and its removals by retention. Its tip is anchored outside the store. An entry counts as
 * written when it is in the store and then at or below the anchor.
 */
export class TransparencyLog {
  readonly births: GenesisIndex;
  readonly #entries: Model<RegisterDocument>;
  readonly #facts = new GroupCommit((pending: PendingFact[]) => this.#append(pending));
  /** Births being recorded or marked, by chain. */
  readonly #bearing = new Map<string, Promise<void>>();
  /** Last recorded state of each API key. */
  readonly #keys = new Map<string, string>();
  /** End after this process's last write; null: to be read. */
  #end: RegisterEnd | null = null;

  /** @param anchor null: a truncated register goes unnoticed */
  constructor(
    private readonly connection: Connection,
    private readonly key: RegisterKey,
    private readonly anchor: Anchor | null,
  ) {
    this.#entries = modelOf(connection, 'auditRegister', registerSchema());
    this.births = new GenesisIndex(connection);
  }

  /**
   * Resolves when the fact is written. Concurrent facts share an entry.
   * @param beside starts when the fact is in the store, during the anchoring; `add` resolves after both
   * @throws BrokenChain when the next number is taken by a forged entry, or the anchor cannot be read or written
   * @throws MayflyError store_unavailable
   */
  async add(fact: RegisterFact, beside = NO_OP): Promise<void> {
    await this.#facts.add({ fact, beside });
  }

  /** Records the birth of a chain, once for concurrent calls. @throws as {@link add} */
  async bear(subject: string, first: string | null, beside: () => Promise<void>): Promise<void> {
    const underWay = this.#bearing.get(subject);
    if (underWay) return underWay.then(beside);
    const told = this.add({ kind: 'birth', subject, first }, beside);
    const marked = told.then(() => this.#mark(subject, first)).finally(() => this.#bearing.delete(subject));
    marked.catch(() => undefined); // for concurrent callers; `told` decides the result
    this.#bearing.set(subject, marked);
    return told;
  }

  /** Marks a birth. The next append of the chain waits for it, and records the birth again after a failure. */
  async #mark(subject: string, first: string | null): Promise<void> {
    try {
      await this.births.mark(subject, first);
    } catch (error) {
      if (error instanceof MayflyError) return;
      throw error;
    }
    this.births.remember(subject);
  }

  /** Records the state of an API key, unless it is the last recorded one. */
  async addKey(keyId: string, { scopes, createdAt, revokedAt }: KeyMark): Promise<void> {
    const id = `key/${keyId}`;
    const mark = JSON.stringify([scopes, createdAt, revokedAt]);
    if (this.#keys.get(keyId) === mark) return;
    if ((await this.births.of(id)) !== mark) {
      await this.add({ kind: 'key', keyId, scopes: [...scopes], createdAt, revokedAt });
      await this.births.replace(id, mark);
    }
    this.#keys.set(keyId, mark);
  }

  /**
   * Reads and verifies the whole register. May run during writes. @throws BrokenChain when the anchor cannot be read
   */
  async walk(): Promise<LogVerification> {
    const walk = new LogVerification(this.key, await this.anchored());
    await this.readOn(walk);
    walk.end();
    if (this.anchor) walk.compare(await this.anchored());
    return walk;
  }

  /** Reads entries written since. */
  async readOn(walk: LogVerification): Promise<void> {
    for await (const document of this.stored(walk.next)) walk.take(document);
  }

  sealed(sha256: string): string {
    return this.key.sealed(sha256);
  }

  /** Yields all documents from a number on, also unexpected ones, by id. */
  async *stored(from = 0): AsyncGenerator<RegisterDocument> {
    const read = (after: string) => {
      const query = this.#entries.find({ _id: { $gt: after } }).sort({ _id: 1 });
      return query.limit(PAGE).lean<RegisterDocument[]>().exec();
    };
    for await (const page of pagesOf(PAGE, read, from > 0 ? numberText(from - 1) : '')) yield* page;
  }

  /** Returns the anchored tip; null without an anchor or tip. @throws BrokenChain when it cannot be read */
  async anchored(): Promise<AnchorTip | null> {
    if (!this.anchor) return null;
    try {
      return await this.anchor.read();
    } catch (error) {
      throw new BrokenChain(`The anchor of the audit's register can't be read: ${messageOf(error)}`, error);
    }
  }

  async #append(told: PendingFact[]): Promise<null[]> {
    for (;;) {
      const end = this.#end ?? (await this.#readEnd());
      this.#end = null; // read again after a failure
      const at = new Date().toISOString();
      const body: RegisterBody = { at, facts: [...end.first, ...told.map(({ fact }) => fact)] };
      const entry = this.key.entry(end.number + 1, end.hash, JSON.stringify(body));
      if (!(await this.#insert(entry))) continue;
      const tip = { number: end.number + 1, hash: entry.hash, at };
      await Promise.all([this.#putAnchor(tip), ...told.map(({ beside }) => beside())]);
      this.#end = { ...tip, first: [] };
      return told.map(() => null);
    }
  }

  /** @returns false when the number is taken */
  async #insert(entry: RegisterDocument): Promise<boolean> {
    try {
      const stored = this.connection.collection<RegisterDocument>('auditRegister');
      await withStoreErrors('write to the register', () => stored.insertOne(entry));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /**
   * Returns the end: the anchored entry, followed by the genuine ones after it. An entry that the anchor has and the
   * store lacks stays a gap, as evidence.
   */
  async #readEnd(): Promise<RegisterEnd> {
    const anchored = await this.anchored();
    let tip = anchored ?? (await this.#lastStored());
    for await (const document of this.stored(tip.number + 1)) {
      if (numberOf(document._id) !== tip.number + 1) break;
      if (!this.key.isGenuine(document) || document.previousHash !== tip.hash) throw forgedEntryError(document._id);
      tip = { number: tip.number + 1, hash: document.hash, at: (JSON.parse(document.body) as RegisterBody).at };
    }
    const ahead = tip.number - (anchored ?? NOTHING).number;
    const isLate = this.anchor !== null && (anchored ? ahead > MOST_UNANCHORED : ahead > 0);
    if (ahead > 0 && !isLate) await this.#putAnchor(tip); // else another kill leaves the anchor further behind
    return { ...tip, first: isLate ? [{ kind: 'anchored', after: tip.number }] : [] };
  }

  /** Returns the last entry of the store, for a register without an anchored tip. */
  async #lastStored(): Promise<AnchorTip> {
    const [last] = await this.#entries.find().sort({ _id: -1 }).limit(1).lean<RegisterDocument[]>();
    if (!last) return NOTHING;
    const number = numberOf(last._id);
    if (number === null || !this.key.isGenuine(last)) throw forgedEntryError(last._id);
    return { number, hash: last.hash, at: (JSON.parse(last.body) as RegisterBody).at };
  }

  async #putAnchor(tip: AnchorTip): Promise<void> {
    try {
      await this.anchor?.put(tip);
    } catch (error) {
      throw new BrokenChain(`The anchor of the audit's register can't be written: ${messageOf(error)}`, error);
    }
  }
}

function forgedEntryError(id: string): BrokenChain {
  return new BrokenChain(
    `The entry ${id} of the audit's register was not written by Mayfly, so nothing can be written after it. ` +
      'Run `mayfly audit verify`, keep a copy of the collection `auditRegister` as evidence, then remove that entry.',
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
