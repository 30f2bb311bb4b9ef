import type { Connection, Model, mongo } from 'mongoose';
import type { AuditEntry } from '../../model/sandbox/audit.ts';
import { DUPLICATE_KEY, isDuplicateKey, reaching, refusalsOf } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { type AuditHead, BrokenChain } from './audit-chain.ts';
import type { EntryDocument, HeadDocument } from './audit-documents.ts';
import { entryId, entryOf, entrySchema, headSchema, headText, parseHead } from './audit-documents.ts';
import type { ChainState } from './audit-verification.ts';

/** Entries and heads as they lie in MongoDB; whether they are genuine is for a holder of the key to say. */
export class AuditCollections {
  readonly #entries: Model<EntryDocument>;
  readonly #heads: Model<HeadDocument>;
  readonly #inserts = new GroupCommit((entries: EntryDocument[]) => this.#insertAll(entries));
  readonly #advances = new GroupCommit((heads: HeadDocument[]) => this.#advanceAll(heads));

  constructor(private readonly connection: Connection) {
    this.#entries = connection.model<EntryDocument>('AuditEntry', entrySchema(), 'audit');
    this.#heads = connection.model<HeadDocument>('AuditHead', headSchema(), 'auditHeads');
  }

  /** Null when there is none, or none that Mayfly could have written. */
  async head(sandboxId: string): Promise<AuditHead | null> {
    const { head: text } = await this.state(sandboxId);
    return text === null ? null : parseHead(text);
  }

  /** What is stored of a chain beside its entries. */
  async state(sandboxId: string): Promise<ChainState> {
    const found = await reaching('read the head of an audit', () =>
      this.#heads.findById(sandboxId).lean<HeadDocument>(),
    );
    return { head: found?.head ?? null, expired: found?.expired };
  }

  /** By sandbox. */
  async states(): Promise<Map<string, ChainState>> {
    const heads = await reaching('read audit heads', () => this.#heads.find().lean<HeadDocument[]>());
    return new Map(heads.map(({ _id, head, expired }) => [_id, { head, expired }]));
  }

  /** The head that is there; the given one when there was none. */
  async begin(sandboxId: string, head: AuditHead): Promise<AuditHead> {
    try {
      await reaching('begin an audit', () => this.#heads.create({ _id: sandboxId, head: headText(head) }));
      return head;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const present = await this.head(sandboxId);
    if (present) return present;
    throw new BrokenChain(`The head of the audit of ${sandboxId} is not one that was written by Mayfly.`);
  }

  /** Unless the head that is there is one of a longer chain. */
  async advance(sandboxId: string, head: AuditHead): Promise<void> {
    await this.#advances.add({ _id: sandboxId, head: headText(head) });
  }

  async entry(sandboxId: string, seq: number): Promise<AuditEntry | null> {
    const document = await this.document(entryId(sandboxId, seq));
    return document && entryOf(document);
  }

  /** An entry with what is stored beside it. */
  async document(id: string): Promise<EntryDocument | null> {
    return reaching('read an audit entry', () => this.#entries.findById(id).lean<EntryDocument>());
  }

  /** Those that are there of `count` numbers, in order. */
  async entries(sandboxId: string, from: number, count: number): Promise<AuditEntry[]> {
    if (count === 0) return [];
    const ids = Array.from({ length: count }, (_, n) => entryId(sandboxId, from + n));
    const found = await reaching('read audit entries', () =>
      this.#entries.find({ _id: { $in: ids } }).lean<EntryDocument[]>(),
    );
    return found.map(entryOf).sort((a, b) => a.seq - b.seq);
  }

  /** All that is stored below the sandbox's name, not what should be there. */
  async below(sandboxId: string): Promise<EntryDocument[]> {
    const around = { $gt: `${sandboxId}.`, $lt: `${sandboxId}0` }; // between these is the slash
    const found = await reaching('read an audit', () => this.#entries.find({ _id: around }).lean<EntryDocument[]>());
    return found.filter(({ _id }) => _id.startsWith(`${sandboxId}/`));
  }

  /** Of whom there are entries. Reads the whole collection. */
  async sandboxIds(): Promise<Set<string>> {
    const found = await reaching('scan the audit', () => this.#entries.find({}, { _id: 1 }).lean<{ _id: string }[]>());
    return new Set(found.map(({ _id }) => _id.split('/', 1)[0] ?? ''));
  }

  /** False when its number is taken. */
  async insert(entry: AuditEntry, recent: string[]): Promise<boolean> {
    const failure = await this.#inserts.add({ _id: entryId(entry.sandboxId, entry.seq), ...entry, recent });
    if (failure === null) return true;
    if (failure.code === DUPLICATE_KEY) return false;
    throw new BrokenChain(`The store refused an audit entry of ${entry.sandboxId}: ${failure.errmsg}`);
  }

  /** Entries of many chains, each the next of its own. @returns for each why it was not written, or null */
  async #insertAll(entries: EntryDocument[]): Promise<(mongo.WriteError | null)[]> {
    try {
      const audit = this.connection.collection<EntryDocument>('audit');
      await reaching('append to the audit', () => audit.insertMany(entries, { ordered: false }));
      return entries.map(() => null);
    } catch (error) {
      const refusals = refusalsOf(error);
      if (refusals === null) throw error;
      return entries.map((_, n) => refusals.get(n) ?? null);
    }
  }

  async #advanceAll(heads: HeadDocument[]): Promise<null[]> {
    const latest = new Map<string, string>();
    for (const { _id, head } of heads) if (head > (latest.get(_id) ?? '')) latest.set(_id, head);
    const updates = [...latest].map(([_id, head]) => ({ updateOne: { filter: { _id }, update: { $max: { head } } } }));
    const stored = this.connection.collection<HeadDocument>('auditHeads');
    await reaching('advance heads of audits', () => stored.bulkWrite(updates, { ordered: false }));
    return heads.map(() => null);
  }
}
