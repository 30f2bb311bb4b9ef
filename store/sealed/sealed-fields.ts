import mongoose from 'mongoose';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { Replacement } from '../../model/fields.ts';
import type { Cipher } from './seal.ts';

type Fields = Record<string, unknown>;

/** A document that cannot be read. */
export interface Unreadable {
  id: string;
  /** Names the document, its collection and the reason. */
  problem: string;
}

/**
 * Field besides `_id` that a document's encryption is bound to: for an audit entry its hash, which covers chain and
 * position, so that a moved entry is recognised as such.
 */
const BOUND_BY: Readonly<Record<string, string>> = { audit: 'hash' };

/** Encrypts fields of the documents of one collection before a write, and decrypts them after a read. */
export class EncryptedFields {
  readonly #boundBy: string;

  constructor(
    private readonly seal: Cipher | null,
    private readonly collection: string,
    private readonly fields: ReadonlyMap<string, Replacement | null>,
    private readonly report: (unreadable: Unreadable) => void = () => undefined,
  ) {
    this.#boundBy = BOUND_BY[collection] ?? '_id';
  }

  /**
   * Encrypts the fields of a document, or of a change of it. Absent and empty ones stay so.
   * @param id id to which the document is bound
   * @throws MayflyError payload_key_unusable without a key
   */
  sealed<T extends object>(id: string, fields: T): T {
    return this.#each(fields, (value, field) =>
      isEmpty(value) ? value : this.#requireKey().seal(this.#at(id, field), value),
    );
  }

  /** Decrypts a document. Empty fields stay so. @throws MayflyError payload_key_unusable, record_damaged */
  opened<T extends object>(document: T): T {
    const id = this.#idOf(document);
    return this.#each(document, (value, field) => (isEmpty(value) ? value : this.#open(id, field, value)));
  }

  /**
   * Converts documents to records, without the unreadable ones, each of which is logged.
   * @param recordOf takes a decrypted document @param unreadable collects the unreadable ones
   * @throws MayflyError payload_key_unusable without any key
   */
  records<D extends object, T>(
    documents: readonly D[],
    recordOf: (document: D) => T,
    unreadable: Unreadable[] = [],
  ): T[] {
    return documents.flatMap((document) => {
      try {
        return [recordOf(this.opened(document))];
      } catch (error) {
        unreadable.push(this.#unreadable(String((document as Fields)['_id']), error));
        return [];
      }
    });
  }

  /**
   * Decrypts all fields of a document, also those with a substitute text. Returns null when it is readable. @throws
   * MayflyError payload_key_unusable without any key
   */
  problemOf(document: object): Unreadable | null {
    try {
      this.#each(document, (value, field) =>
        isEmpty(value) ? value : this.#requireKey().open(this.#at(this.#idOf(document), field), value),
      );
      return null;
    } catch (error) {
      return this.#unreadable(String((document as Fields)['_id']), error);
    }
  }

  /**
   * As {@link opened}, but null for an unreadable document, which is logged. @throws MayflyError payload_key_unusable
   * without any key
   */
  openedIfReadable<T extends object>(document: T): T | null {
    const [opened = null] = this.records([document], (each) => each);
    return opened;
  }

  /** Reports whether a document was changed or moved. False when only its key is missing. */
  isDamaged(document: object): boolean {
    try {
      return this.openedIfWhole(document) === null;
    } catch {
      return false; // its key may come back
    }
  }

  /** As {@link opened}, but null for a document that was changed or moved. @throws MayflyError payload_key_unusable */
  openedIfWhole<T extends object>(document: T): T | null {
    try {
      return this.opened(document);
    } catch (error) {
      if (isMayflyError(error, 'record_damaged')) return null;
      throw error;
    }
  }

  /**
   * Re-encrypts the fields of a document that are not encrypted with the current key, by path.
   * @returns null when all are
   * @throws MayflyError payload_key_unusable, record_damaged
   */
  resealed(document: object): { seen: Fields; set: Fields } | null {
    const seal = this.#requireKey();
    const id = this.#idOf(document);
    const seen: Fields = {};
    const set: Fields = {};
    this.#each(document, (value, field) => {
      if (isEmpty(value) || seal.isCurrent(value)) return value;
      const place = this.#at(id, field);
      seen[field] = value;
      set[field] = seal.seal(place, seal.open(place, value));
      return value;
    });
    return Object.keys(set).length > 0 ? { seen, set } : null;
  }

  #open(id: string, field: string, value: unknown): unknown {
    const seal = this.#requireKey();
    try {
      return seal.open(this.#at(id, field), value);
    } catch (error) {
      const standIn = this.fields.get(field);
      if (!standIn) throw error;
      return standIn(this.#unreadable(id, error).problem);
    }
  }

  #unreadable(id: string, error: unknown): Unreadable {
    if (!this.seal && isMayflyError(error, 'payload_key_unusable')) throw error;
    const whose = this.#boundBy === '_id' ? '' : `${id}: `;
    const problem =
      error instanceof MayflyError
        ? `${whose}${error.message}`
        : `The store cannot be understood: ${id} in the collection \`${this.collection}\` is not as Mayfly wrote it (${String(error)}).`;
    const unreadable = { id, problem };
    this.report(unreadable);
    return unreadable;
  }

  #each<T extends object>(fields: T, change: (value: unknown, field: string) => unknown): T {
    let changed: Fields = fields as Fields;
    for (const path of this.fields.keys()) changed = mapField(changed, path.split('.'), (value) => change(value, path));
    return changed as T;
  }

  #idOf(document: object): string {
    return String((document as Fields)[this.#boundBy]);
  }

  #at(id: string, field: string) {
    return { collection: this.collection, id, field };
  }

  #requireKey(): Cipher {
    if (this.seal) return this.seal;
    const why = `the collection \`${this.collection}\` is encrypted, and this process was given no key`;
    throw new MayflyError('payload_key_unusable', `The store cannot be understood: ${why}.`);
  }
}

function mapField(fields: Fields, [name, ...rest]: readonly string[], change: (value: unknown) => unknown): Fields {
  const value = name === undefined ? undefined : fields[name];
  if (name === undefined || value === undefined || value === null) return fields;
  const next = rest.length === 0 ? change(value) : mapField(value as Fields, rest, change);
  return { ...fields, [name]: next };
}

/** Reports whether a value is empty: it reveals nothing, and living records are often read all at once. */
function isEmpty(value: unknown): boolean {
  if (value instanceof mongoose.mongo.Binary) return value.position === 0; // as bytes are read
  return value === null || value === undefined || value === '' || (value as { length?: number }).length === 0;
}
