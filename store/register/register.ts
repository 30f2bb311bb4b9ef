import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { modelOf } from '../mongo/model.ts';
import { pagesOf } from '../mongo/pages.ts';
import type { Anchor, AnchorTip } from './anchor.ts';
import { Births } from './births.ts';
import { BrokenChain } from './broken-chain.ts';
import type { KeyMark, RegisterBody, RegisterDocument, RegisterFact } from './facts.ts';
import { numberOf, numberText, registerSchema } from './facts.ts';
import { BEGINNING, type RegisterKey } from './register-key.ts';
import { MOST_UNANCHORED, RegisterWalk } from './register-walk.ts';

/** Entries are read so many at a time. */
const PAGE = 500;
const NOTHING: AnchorTip = { number: -1, hash: BEGINNING, at: '' };

interface RegisterEnd extends AnchorTip {
  /** What the next entry must say besides. */
  first: RegisterFact[];
}

interface Told {
  fact: RegisterFact;
  /** What may be written when the fact is in the store, while it is anchored. */
  beside: () => Promise<void>;
}

const NOTHING_BESIDE = async (): Promise<void> => {};

/**
 * The register of an installation: one chain of keyed entries that tells when each audit chain began, how far it had come
 * at times, and what retention took away. Its tip is anchored outside the store. An entry counts as written when it is in
 * the store and then at or below the anchor.
 */
export class Register {
  readonly births: Births;
  readonly #entries: Model<RegisterDocument>;
  readonly #facts = new GroupCommit((told: Told[]) => this.#append(told));
  /** Of chains whose birth is being told or marked, that. */
  readonly #bearing = new Map<string, Promise<void>>();
  /** Of each API key, what the register says of it. */
  readonly #keys = new Map<string, string>();
  /** Where it ended when this process last wrote; null: to be read. */
  #end: RegisterEnd | null = null;

  /** @param anchor null: nothing outside the store tells where the register ends, so that a cut end is not noticed */
  constructor(
    private readonly connection: Connection,
    private readonly key: RegisterKey,
    private readonly anchor: Anchor | null,
  ) {
    this.#entries = modelOf(connection, 'auditRegister', registerSchema());
    this.births = new Births(connection);
  }

  /**
   * Resolves when the fact is written. Facts that come together share an entry.
   * @param beside begins when the fact is in the store, while the anchor is written; resolves when both are
   * @throws BrokenChain when the next number is taken by a forged entry, or the anchor can't be read or written
   * @throws MayflyError store_unavailable
   */
  async add(fact: RegisterFact, beside = NOTHING_BESIDE): Promise<void> {
    await this.#facts.add({ fact, beside });
  }

  /** Writes that a chain began; once, however many ask. @throws as {@link add} */
  async bear(subject: string, first: string | null, beside: () => Promise<void>): Promise<void> {
    const underWay = this.#bearing.get(subject);
    if (underWay) return underWay.then(beside);
    const told = this.add({ kind: 'birth', subject, first }, beside);
    const marked = told.then(() => this.#mark(subject, first)).finally(() => this.#bearing.delete(subject));
    marked.catch(() => undefined); // for who asks meanwhile; `told` is what counts
    this.#bearing.set(subject, marked);
    return told;
  }

  /** The next append of the chain waits for this, and has the birth told again where it failed. */
  async #mark(subject: string, first: string | null): Promise<void> {
    try {
      await this.births.mark(subject, first);
    } catch (error) {
      if (error instanceof MayflyError) return;
      throw error;
    }
    this.births.remember(subject);
  }

  /** Writes how an API key is, unless that is the last that was written of it. */
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

  /** Reads and judges it as a whole. May run while others write. @throws BrokenChain when the anchor can't be read */
  async walk(): Promise<RegisterWalk> {
    const walk = new RegisterWalk(this.key, await this.anchored());
    await this.readOn(walk);
    walk.end();
    if (this.anchor) walk.compare(await this.anchored());
    return walk;
  }

  /** Takes what was written since. */
  async readOn(walk: RegisterWalk): Promise<void> {
    for await (const document of this.stored(walk.next)) walk.take(document);
  }

  /** A keyed hash of an export, by the SHA-256 of its lines. */
  sealed(sha256: string): string {
    return this.key.sealed(sha256);
  }

  /** All that is stored from a number on, also what should not be there, by its id. */
  async *stored(from = 0): AsyncGenerator<RegisterDocument> {
    const read = (after: string) => {
      const query = this.#entries.find({ _id: { $gt: after } }).sort({ _id: 1 });
      return query.limit(PAGE).lean<RegisterDocument[]>().exec();
    };
    for await (const page of pagesOf(PAGE, read, from > 0 ? numberText(from - 1) : '')) yield* page;
  }

  /** What the anchor says; null where there is none. @throws BrokenChain when it can't be read */
  async anchored(): Promise<AnchorTip | null> {
    if (!this.anchor) return null;
    try {
      return await this.anchor.read();
    } catch (error) {
      throw new BrokenChain(`The anchor of the audit's register can't be read: ${messageOf(error)}`, error);
    }
  }

  async #append(told: Told[]): Promise<null[]> {
    for (;;) {
      const end = this.#end ?? (await this.#readEnd());
      this.#end = null; // what fails is read anew
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

  /** False when its number is taken. */
  async #insert(entry: RegisterDocument): Promise<boolean> {
    try {
      const stored = this.connection.collection<RegisterDocument>('auditRegister');
      await reaching('write to the register', () => stored.insertOne(entry));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /**
   * Where the next entry goes: after the anchor's, and those that are genuine behind it. What the anchor knows and the store
   * has not stays a gap: it is evidence.
   */
  async #readEnd(): Promise<RegisterEnd> {
    const anchored = await this.anchored();
    let tip = anchored ?? (await this.#lastStored());
    for await (const document of this.stored(tip.number + 1)) {
      if (numberOf(document._id) !== tip.number + 1) break;
      if (!this.key.isGenuine(document) || document.previousHash !== tip.hash) throw forged(document._id);
      tip = { number: tip.number + 1, hash: document.hash, at: (JSON.parse(document.body) as RegisterBody).at };
    }
    const ahead = tip.number - (anchored ?? NOTHING).number;
    const isLate = this.anchor !== null && (anchored ? ahead > MOST_UNANCHORED : ahead > 0);
    if (ahead > 0 && !isLate) await this.#putAnchor(tip); // else a process that is killed again leaves one more behind
    return { ...tip, first: isLate ? [{ kind: 'anchored', after: tip.number }] : [] };
  }

  /** Where no anchor says more. */
  async #lastStored(): Promise<AnchorTip> {
    const [last] = await this.#entries.find().sort({ _id: -1 }).limit(1).lean<RegisterDocument[]>();
    if (!last) return NOTHING;
    const number = numberOf(last._id);
    if (number === null || !this.key.isGenuine(last)) throw forged(last._id);
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

function forged(id: string): BrokenChain {
  return new BrokenChain(
    `The entry ${id} of the audit's register was not written by Mayfly, so nothing can be written after it. ` +
      'Run `mayfly audit verify`, keep a copy of the collection `auditRegister` as evidence, then remove that entry.',
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
