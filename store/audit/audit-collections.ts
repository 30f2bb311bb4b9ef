import type { Connection, Model, mongo } from 'mongoose';
import type { AuditEntry } from '../../model/sandbox/audit.ts';
import { DUPLICATE_KEY, getWriteErrors, isDuplicateKey, withStoreErrors } from '../mongo/failure.ts';
import { GroupCommit } from '../mongo/group-commit.ts';
import { modelOf } from '../mongo/model.ts';
import { pagesOf } from '../mongo/pages.ts';
import { BrokenChain } from '../register/broken-chain.ts';
import type { EncryptedFields } from '../sealed/sealed-fields.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';
import type { AuditHead } from './audit-chain.ts';
import type { EntryDocument, HeadDocument } from './audit-documents.ts';
import {
  entryId,
  entryOf,
  entrySchema,
  headSchema,
  headText,
  parseHead,
  withBrokenChainOnMissingKey,
} from './audit-documents.ts';
import type { ChainState } from './audit-verification.ts';

/** Heads read at a time. */
const PAGE = 500;

/** Body shown for one that was altered: it parses as an event, and matches no entry's hash. */
const DAMAGED = JSON.stringify({ actor: null, at: '', detail: {}, eventId: '', kind: 'unreadable' });

type StoredState = ChainState & { id: string };

/** Stored entries and heads; only a holder of the key can verify them. */
export class AuditCollections {
  readonly #entries: Model<EntryDocument>;
  readonly #heads: Model<HeadDocument>;
  readonly #fields: EncryptedFields;
  readonly #inserts = new GroupCommit((entries: EntryDocument[]) => this.#insertAll(entries));
  readonly #advances = new GroupCommit((heads: HeadDocument[]) => this.#writeHeads(heads));

  constructor(
    private readonly connection: Connection,
    sealing: StoreEncryption,
  ) {
    this.#entries = modelOf(connection, 'audit', entrySchema());
    this.#fields = sealing.of('audit', this.#entries.schema);
    this.#heads = modelOf(connection, 'auditHeads', headSchema());
    sealing.of('auditHeads', this.#heads.schema);
  }

  /** Returns null without a head, or for one that Mayfly could not have written. */
  async head(sandboxId: string): Promise<AuditHead | null> {
    const { head: text } = await this.state(sandboxId);
    return text === null ? null : parseHead(text);
  }

  /** Returns the stored state of a chain without its entries. */
  async state(sandboxId: string): Promise<ChainState> {
    const found = await this.#heads.findById(sandboxId).lean<HeadDocument>();
    return { head: found?.head ?? null, expired: found?.expired };
  }

  /** Stores the first head of a chain, unless one exists. @returns the stored one */
  async begin(sandboxId: string, head: AuditHead): Promise<AuditHead> {
    try {
      const stored = this.connection.collection<HeadDocument>('auditHeads');
      await withStoreErrors('begin an audit', () => stored.insertOne({ _id: sandboxId, head: headText(head) }));
      return head;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const present = await this.head(sandboxId);
    if (present) return present;
    throw new BrokenChain(`The head of the audit of ${sandboxId} is not one that was written by Mayfly.`);
  }

  /** Advances the head, unless the stored one is of a longer chain. */
  async advance(sandboxId: string, head: AuditHead): Promise<void> {
    await this.#advances.add({ _id: sandboxId, head: headText(head) });
  }

  /** @throws BrokenChain when it was written with a key that is missing here */
  async entry(sandboxId: string, seq: number): Promise<AuditEntry | null> {
    const document = await this.#document(sandboxId, seq);
    return document && withBrokenChainOnMissingKey(() => entryOf(this.#decrypt(document)));
  }

  /** Returns digests of the events up to an entry; none for a missing entry. */
  async recent(sandboxId: string, seq: number): Promise<string[]> {
    return (await this.#document(sandboxId, seq))?.recent ?? [];
  }

  #document(sandboxId: string, seq: number): Promise<EntryDocument | null> {
    return this.#entries.findById(entryId(sandboxId, seq)).lean<EntryDocument>().exec();
  }

  #decrypt(document: EntryDocument): EntryDocument {
    return this.#fields.openedIfWhole(document) ?? { ...document, body: DAMAGED };
  }

  /** Returns those of `count` numbers that exist, in order. */
  async entries(sandboxId: string, from: number, count: number): Promise<AuditEntry[]> {
    if (count === 0) return [];
    const ids = Array.from({ length: count }, (_, n) => entryId(sandboxId, from + n));
    const found = await this.#entries.find({ _id: { $in: ids } }).lean<EntryDocument[]>();
    const opened = found.map((each) => this.#fields.openedIfReadable(each) ?? { ...each, body: DAMAGED });
    return opened.map(entryOf).sort((a, b) => a.seq - b.seq);
  }

  /** Returns all documents below the sandbox's name, also unexpected ones. */
  async below(sandboxId: string): Promise<EntryDocument[]> {
    const around = { $gt: `${sandboxId}.`, $lt: `${sandboxId}0` }; // between these is the slash
    const found = await this.#entries.find({ _id: around }).lean<EntryDocument[]>();
    return found.filter(({ _id }) => _id.startsWith(`${sandboxId}/`)).map((each) => this.#decrypt(each));
  }

  /** Returns the ids of all sandboxes with entries. Reads the whole collection. */
  async sandboxIds(): Promise<Set<string>> {
    const found = await this.#entries.find({}, { _id: 1 }).lean<{ _id: string }[]>();
    return new Set(found.map(({ _id }) => _id.split('/', 1)[0] ?? ''));
  }

  /** Reports whether the record of a sandbox shows that it has run. */
  async hasRun(sandboxId: string): Promise<boolean> {
    const filter = { _id: sandboxId, runningAt: { $ne: null } };
    const found = await withStoreErrors('look whether a sandbox has run', () =>
      Promise.all(
        ['sandboxes', 'endedSandboxes'].map((name) =>
          this.connection.collection<{ _id: string; runningAt: string | null }>(name).findOne(filter),
        ),
      ),
    );
    return found.some((record) => record !== null);
  }

  /** Returns sandboxes that live or have ended since an instant, ISO 8601. */
  async livingSince(at: string): Promise<string[]> {
    const queries: [collection: string, filter: Record<string, unknown>][] = [
      ['sandboxes', {}],
      ['endedSandboxes', { updatedAt: { $gte: at } }],
    ];
    const found = await withStoreErrors('read which sandboxes live', () =>
      Promise.all(
        queries.map(([name, filter]) =>
          this.connection
            .collection<{ _id: string }>(name)
            .find(filter, { projection: { _id: 1 } })
            .toArray(),
        ),
      ),
    );
    return found.flat().map(({ _id }) => _id);
  }

  /** Returns the sources that have a chain. */
  async sourceIds(): Promise<string[]> {
    const sources = { $gt: 'src-', $lt: 'src.' };
    const found = await this.#heads.find({ _id: sources }, { _id: 1 }).lean<{ _id: string }[]>();
    return found.map(({ _id }) => _id);
  }

  /** Yields the stored states of these chains without their entries, in pages. */
  async *statesOf(ids: readonly string[]): AsyncGenerator<StoredState[]> {
    for (let from = 0; from < ids.length; from += PAGE) {
      const wanted = ids.slice(from, from + PAGE);
      const found = await this.#heads.find({ _id: { $in: wanted } }).lean<HeadDocument[]>();
      yield found.map(stateOf);
    }
  }

  /** Yields the stored states of all chains without their entries, in pages, by id. */
  async *states(): AsyncGenerator<StoredState[]> {
    const read = (after: string) => {
      const query = this.#heads.find({ _id: { $gt: after } }).sort({ _id: 1 });
      return query.limit(PAGE).lean<HeadDocument[]>().exec();
    };
    for await (const page of pagesOf(PAGE, read)) yield page.map(stateOf);
  }

  /** @returns false when the number is taken */
  async insert(entry: AuditEntry, recent: string[]): Promise<boolean> {
    const document = { _id: entryId(entry.sandboxId, entry.seq), ...entry, recent };
    const failure = await this.#inserts.add(this.#fields.sealed(entry.hash, document));
    if (failure === null) return true;
    if (failure.code === DUPLICATE_KEY) return false;
    throw new BrokenChain(`The store refused an audit entry of ${entry.sandboxId}: ${failure.errmsg}`);
  }

  /** Inserts entries of many chains, each the next of its own. @returns the error of each, or null */
  async #insertAll(entries: EntryDocument[]): Promise<(mongo.WriteError | null)[]> {
    try {
      const audit = this.connection.collection<EntryDocument>('audit');
      await withStoreErrors('append to the audit', () => audit.insertMany(entries, { ordered: false }));
      return entries.map(() => null);
    } catch (error) {
      const refusals = getWriteErrors(error);
      if (refusals === null) throw error;
      return entries.map((_, n) => refusals.get(n) ?? null);
    }
  }

  async #writeHeads(heads: HeadDocument[]): Promise<null[]> {
    const latest = new Map<string, string>();
    for (const { _id, head } of heads) if (head > (latest.get(_id) ?? '')) latest.set(_id, head);
    const updates = [...latest].map(([_id, head]) => ({ updateOne: { filter: { _id }, update: { $max: { head } } } }));
    const stored = this.connection.collection<HeadDocument>('auditHeads');
    await withStoreErrors('advance heads of audits', () => stored.bulkWrite(updates, { ordered: false }));
    return heads.map(() => null);
  }
}

function stateOf({ _id, head, expired }: HeadDocument): StoredState {
  return { id: _id, head, expired };
}
