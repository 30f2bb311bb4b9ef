import type { Connection, Model } from 'mongoose';
import type { AuditEntry } from '../model/audit.ts';
import { MayflyError } from '../model/errors.ts';
import type { AuditHead } from './audit-chain.ts';
import type { EntryDocument, HeadDocument } from './audit-documents.ts';
import { entryId, entryOf, entrySchema, headSchema, headText, parseHead } from './audit-documents.ts';
import { isDuplicateKey, reaching } from './failure.ts';

/** Entries and heads as they lie in MongoDB; whether they are genuine is for a holder of the key to say. */
export class AuditCollections {
  readonly #entries: Model<EntryDocument>;
  readonly #heads: Model<HeadDocument>;

  constructor(connection: Connection) {
    this.#entries = connection.model<EntryDocument>('AuditEntry', entrySchema(), 'audit');
    this.#heads = connection.model<HeadDocument>('AuditHead', headSchema(), 'auditHeads');
  }

  /** Null when there is none, or none that Mayfly could have written. */
  async head(sandboxId: string): Promise<AuditHead | null> {
    const text = await this.headText(sandboxId);
    return text === null ? null : parseHead(text);
  }

  async headText(sandboxId: string): Promise<string | null> {
    const found = await reaching('read the head of an audit', () =>
      this.#heads.findById(sandboxId).lean<HeadDocument>(),
    );
    return found?.head ?? null;
  }

  /** By sandbox. */
  async headTexts(): Promise<Map<string, string>> {
    const heads = await reaching('read audit heads', () => this.#heads.find().lean<HeadDocument[]>());
    return new Map(heads.map(({ _id, head }) => [_id, head]));
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
    throw new MayflyError('internal', `The head of the audit of ${sandboxId} is not one that was written by Mayfly.`);
  }

  /** Unless the head that is there is one of a longer chain. */
  async advance(sandboxId: string, head: AuditHead): Promise<void> {
    await reaching('advance the head of an audit', () =>
      this.#heads.updateOne({ _id: sandboxId }, { $max: { head: headText(head) } }),
    );
  }

  async entry(sandboxId: string, seq: number): Promise<AuditEntry | null> {
    const document = await this.document(entryId(sandboxId, seq));
    return document && entryOf(document);
  }

  /** An entry with what is stored beside it. */
  async document(id: string): Promise<EntryDocument | null> {
    return reaching('read an audit entry', () => this.#entries.findById(id).lean<EntryDocument>());
  }

  /** False when its number is taken. */
  async insert(entry: AuditEntry, recent: string[]): Promise<boolean> {
    try {
      const _id = entryId(entry.sandboxId, entry.seq);
      await reaching('append to the audit', () => this.#entries.create({ _id, ...entry, recent }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Ids of stored entries by sandbox: of all that is there, not of what should be there. */
  async ids(pattern: RegExp): Promise<Map<string, string[]>> {
    const found = await reaching('scan the audit', () =>
      this.#entries.find({ _id: pattern }, { _id: 1 }).lean<{ _id: string }[]>(),
    );
    const bySandbox = new Map<string, string[]>();
    for (const { _id } of found) {
      const sandboxId = _id.split('/', 1)[0] ?? '';
      bySandbox.set(sandboxId, [...(bySandbox.get(sandboxId) ?? []), _id]);
    }
    return bySandbox;
  }
}
