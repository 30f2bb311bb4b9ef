import type { Connection, Model, QueryFilter } from 'mongoose';
import type { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { isDuplicateKey } from '../mongo/failure.ts';
import { modelOf } from '../mongo/model.ts';
import { fieldsOf } from '../mongo/model-fields.ts';
import { assertFields } from '../mongo/required-fields.ts';
import { NAME, strictSchema } from '../mongo/schema.ts';
import { cursorFilter, type Page, toPage } from '../sealed/page-cursor.ts';
import type { EncryptedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';

/** Document of a record: its `id` is in `_id`. */
export type DocumentOf<R> = Omit<R, 'id'> & { _id: string };

/** Values, or operators, of fields by their paths. */
export type Filter<D> = { readonly [Field in keyof D | '$or' | `${string}.${string}`]?: unknown };

/** Selection of the documents that a query returns. */
interface Selection {
  sort?: Record<string, 1 | -1>;
  skip?: number;
  limit?: number;
  /** Fields that are read. `@default` all */
  only?: Record<string, 0 | 1>;
  /** Collects the documents that cannot be read. */
  unreadable?: Unreadable[] | undefined;
}

interface Definition<M extends z.ZodObject = z.ZodObject, I extends z.ZodRawShape = z.ZodRawShape> {
  collection: string;
  /** Name of a record in errors, with its article. */
  noun: string;
  /** Model of a record; all its fields but the id are stored. */
  model: M;
  /** Fields of the document that records lack. */
  internal?: I;
  /** Fields without which a document is damaged. */
  required?: readonly string[];
  /**
   * Reports whether a text is the `id` of a record. `@default` records have none, and `_id` is derived from other
   * fields
   */
  isId?: (id: string) => boolean;
}

/** Records of one collection: encrypts and decrypts their fields, and maps errors of the server. */
abstract class Repository<R extends object, D extends { _id: string }> {
  protected readonly model: Model<D>;
  protected readonly encryption: EncryptedFields;

  constructor(
    protected readonly connection: Connection,
    sealing: StoreEncryption,
    private readonly definition: Definition,
  ) {
    const { collection, model, internal = {} } = definition;
    const { id: _id, ...shape } = model.shape;
    const all = { _id: NAME, ...fieldsOf(shape), ...fieldsOf(internal) };
    this.model = modelOf(connection, collection, strictSchema<D>(all));
    this.encryption = sealing.of(collection, this.model.schema);
  }

  /** Converts a decrypted document to its record. @throws MayflyError record_damaged */
  protected readonly recordOf = (document: D): R => {
    const { collection, internal = {}, required, isId } = this.definition;
    if (required) assertFields(collection, document, required);
    const { _id, ...rest } = document;
    const record: Record<string, unknown> = isId ? { id: _id, ...rest } : rest;
    for (const name of Object.keys(internal)) delete record[name];
    return record as R;
  };

  /** Returns the id. @throws MayflyError invalid_id */
  protected checked(id: string): string {
    const { isId = () => true, noun } = this.definition;
    if (typeof id === 'string' && isId(id)) return id;
    throw new MayflyError('invalid_id', `That is not the id of ${noun}.`);
  }

  protected decrypted(document: D): R {
    return this.recordOf(this.encryption.opened(document));
  }

  /** @returns false when there is one with the same key */
  protected async insert(document: D): Promise<boolean> {
    try {
      await this.model.create(this.encryption.sealed(document._id, document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  protected async findById(id: string): Promise<R | null> {
    const found = await this.model.findById(this.checked(id)).lean<D>();
    return found && this.decrypted(found);
  }

  /** Returns documents as they are stored. */
  protected documents(filter: Filter<D>, { sort, skip, limit, only }: Selection = {}): Promise<D[]> {
    const query = this.model.find(filter as QueryFilter<D>, only);
    if (sort) query.sort(sort);
    if (skip !== undefined) query.skip(skip);
    if (limit !== undefined) query.limit(limit);
    return query.lean<D[]>().exec();
  }

  /** Returns the records that can be read. */
  protected async find(filter: Filter<D>, selection: Selection = {}): Promise<R[]> {
    return this.encryption.records(await this.documents(filter, selection), this.recordOf, selection.unreadable);
  }

  /**
   * Returns one page, newest first.
   * @param at field with the creation time, by which they are ordered
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  protected async page(
    filter: Filter<D>,
    { limit, cursor }: { limit: number; cursor?: string | undefined },
    at: keyof D & string,
  ): Promise<Page<R>> {
    const older = { ...filter, ...cursorFilter(cursor, at, (id) => this.definition.isId?.(id) ?? true) };
    const found = await this.documents(older as Filter<D>, { sort: { [at]: -1, _id: -1 }, limit: limit + 1 });
    return toPage(this.encryption, found, { limit, at: (document) => String(document[at]), recordOf: this.recordOf });
  }

  /** Sets fields, each as a whole, of the document that a filter finds. @returns false when it finds none */
  protected async set(
    filter: Filter<D> & { readonly _id: string },
    changes: Partial<D>,
    unset: readonly (keyof D & string)[] = [],
  ): Promise<boolean> {
    const removed = Object.fromEntries(unset.map((name) => [name, 1]));
    const operators = { $set: this.encryption.sealed(filter._id, changes), $unset: removed };
    return this.updateOne(
      filter,
      Object.fromEntries(Object.entries(operators).filter(([, of]) => Object.keys(of).length > 0)),
    );
  }

  /** Changes the document that a filter finds by operators; encrypts nothing. @returns false when it finds none */
  protected async updateOne(filter: Filter<D>, operators: Record<string, object>): Promise<boolean> {
    const options = { runValidators: true };
    return (await this.model.updateOne(filter as QueryFilter<D>, operators, options)).matchedCount > 0;
  }

  /** Sets fields, each as a whole. @returns the changed record; null when the filter finds none */
  protected async setAndRead(filter: Filter<D> & { readonly _id: string }, changes: Partial<D>): Promise<R | null> {
    const update = { $set: this.encryption.sealed(filter._id, changes) };
    const options = { returnDocument: 'after', runValidators: true } as const;
    const found = await this.model.findOneAndUpdate(filter as QueryFilter<D>, update, options).lean<D>();
    return found && this.decrypted(found);
  }

  /** Sets fields, each as a whole, of a document that may not exist yet. @returns the changed record */
  protected async upsert(_id: string, changes: Partial<D>): Promise<R> {
    const update = { $set: this.encryption.sealed(_id, changes) };
    const options = { upsert: true, returnDocument: 'after', runValidators: true } as const;
    return this.decrypted(await this.model.findOneAndUpdate({ _id }, update, options).lean<D>());
  }

  /** Sets fields of a document that may not exist yet, as {@link upsert}, without reading it. */
  protected async write(_id: string, changes: Partial<D>): Promise<void> {
    const options = { upsert: true, runValidators: true };
    await this.model.updateOne({ _id }, { $set: this.encryption.sealed(_id, changes) }, options);
  }

  /**
   * Sets fields of a document with a `version`, which each change raises.
   * @param version version that was read; 0 for a new document
   * @returns false when another writer has changed it since
   */
  protected async writeVersion(_id: string, version: number, changes: object): Promise<boolean> {
    const filter = { _id, version: version === 0 ? { $exists: false } : version } as QueryFilter<D>;
    const options = { upsert: version === 0, runValidators: true };
    try {
      const update = { $set: { ...changes, version: version + 1 } };
      const { matchedCount, upsertedCount } = await this.model.updateOne(filter, update, options);
      return matchedCount + upsertedCount > 0;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Replaces a whole document, or creates it. */
  protected async overwrite(document: D): Promise<void> {
    const { _id } = document;
    const options = { upsert: true, runValidators: true };
    await this.model.replaceOne({ _id }, this.encryption.sealed(_id, document), options);
  }

  /** @returns number removed */
  protected async deleteAll(filter: Filter<D>): Promise<number> {
    return (await this.model.deleteMany(filter as QueryFilter<D>)).deletedCount;
  }

  /** @returns false when it finds none */
  protected async deleteOne(filter: Filter<D>): Promise<boolean> {
    return (await this.model.deleteOne(filter as QueryFilter<D>)).deletedCount > 0;
  }
}

type Internal<I extends z.ZodRawShape> = keyof I extends never ? unknown : z.infer<z.ZodObject<I>>;

/** Creates the base class of a repository whose `_id` is derived from fields of its records. */
export function repositoryOf<M extends z.ZodObject, I extends z.ZodRawShape = Record<never, never>>(
  definition: Definition<M, I>,
) {
  return class extends Repository<z.infer<M>, DocumentOf<z.infer<M>> & Internal<I>> {
    constructor(connection: Connection, sealing: StoreEncryption) {
      super(connection, sealing, definition);
    }
  };
}

/** Creates the base class of a repository of records with an `id`, `_id` of their documents. */
export function recordRepositoryOf<
  M extends z.ZodObject<{ id: z.ZodString }>,
  I extends z.ZodRawShape = Record<never, never>,
>(definition: Definition<M, I> & { isId: (id: string) => boolean }) {
  type R = z.infer<M>;
  type D = DocumentOf<R> & Internal<I>;
  return class extends Repository<R, D> {
    constructor(connection: Connection, sealing: StoreEncryption) {
      super(connection, sealing, definition);
    }

    /** @throws MayflyError invalid_id */
    get(id: string): Promise<R | null> {
      return this.findById(id);
    }

    /** @param internal fields that records lack @returns false when that id exists */
    protected insertRecord({ id, ...rest }: R, internal?: Partial<D>): Promise<boolean> {
      return this.insert({ ...rest, ...internal, _id: this.checked(id) } as unknown as D);
    }
  };
}
