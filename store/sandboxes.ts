import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../model/errors.ts';
import { isSandboxId } from '../model/ids.ts';
import type { SandboxRecord, SandboxState } from '../model/sandbox.ts';
import { SANDBOX_STATES } from '../model/sandbox.ts';
import { isDuplicateKey, reaching } from './failure.ts';
import { cursorOf, positionOf } from './page-cursor.ts';
import type { SandboxDocument } from './sandbox-document.ts';
import { documentOf, recordOf, sandboxSchema, setOf } from './sandbox-document.ts';

export interface SandboxPage {
  items: SandboxRecord[];
  /** Give it back to {@link Sandboxes.list} for the next page; null on the last. */
  nextCursor: string | null;
}

/** Newest first; the id settles equal times, so that pages neither repeat nor skip a record. */
const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The records of sandboxes, one document each, `_id` = sandbox id. Each is written by its own workflow only. */
export class Sandboxes {
  readonly #model: Model<SandboxDocument>;

  constructor(connection: Connection) {
    this.#model = connection.model<SandboxDocument>('Sandbox', sandboxSchema(), 'sandboxes');
  }

  /** Lists and sweepers read by these; a real MongoDB uses them, the embedded store scans all the same. */
  async ensureIndexes(): Promise<void> {
    await reaching('index the sandboxes', async () => {
      await this.#model.collection.createIndex(NEWEST_FIRST);
      await this.#model.collection.createIndex({ state: 1 });
    });
  }

  /**
   * Inserts the record. Repeating the same request (a retried step) answers with what is there by now.
   * @throws MayflyError internal when the id is taken by another request
   */
  async create(record: SandboxRecord): Promise<SandboxRecord> {
    checkId(record.id);
    try {
      await reaching('record a sandbox', () => this.#model.create(documentOf(record)));
      return record;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const present = await this.get(record.id);
    if (present && isSameRequest(present, record)) return present;
    throw new MayflyError('internal', `The id ${record.id} was given to two requests.`);
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<SandboxRecord | null> {
    checkId(id);
    const found = await reaching('read a sandbox', () => this.#model.findById(id).lean<SandboxDocument>());
    return found && recordOf(found);
  }

  /**
   * Sets the given fields, each as a whole, and answers with the new record. `updatedAt` is the caller's to give.
   * @throws MayflyError sandbox_not_found
   */
  async update(id: string, changes: Partial<Omit<SandboxRecord, 'id'>>): Promise<SandboxRecord> {
    checkId(id);
    const changed = await reaching('change a sandbox', () =>
      this.#model
        .findOneAndUpdate({ _id: id }, { $set: setOf(changes) }, { returnDocument: 'after', runValidators: true })
        .lean<SandboxDocument>(),
    );
    if (!changed) throw new MayflyError('sandbox_not_found', `There is no sandbox ${id} in the store.`);
    return recordOf(changed);
  }

  /**
   * One page, newest first. Records made meanwhile do not move the following pages.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list(query: { limit: number; cursor?: string; state?: SandboxState }): Promise<SandboxPage> {
    const filter = {
      ...(query.state && { state: query.state }),
      ...(query.cursor !== undefined && olderThan(query.cursor)),
    };
    const found = await reaching('list sandboxes', () =>
      this.#model
        .find(filter)
        .sort(NEWEST_FIRST)
        .limit(query.limit + 1)
        .lean<SandboxDocument[]>(),
    );
    const items = found.slice(0, query.limit).map(recordOf);
    const last = items.at(-1);
    return {
      items,
      nextCursor: found.length > query.limit && last ? cursorOf({ at: last.createdAt, id: last.id }) : null,
    };
  }

  /** Every sandbox in one of `states`: for sweepers, which look at all of them anyway. Reads the whole collection. */
  async all(states: readonly SandboxState[] = SANDBOX_STATES): Promise<SandboxRecord[]> {
    const found = await reaching('read sandboxes by state', () =>
      this.#model.find({ state: { $in: [...states] } }).lean<SandboxDocument[]>(),
    );
    return found.map(recordOf);
  }

  /** How many sandboxes are in each state; states without any are missing. */
  async countByState(): Promise<Map<SandboxState, number>> {
    const groups = await reaching('count sandboxes', () =>
      this.#model.aggregate<{ _id: SandboxState; count: number }>([{ $group: { _id: '$state', count: { $sum: 1 } } }]),
    );
    return new Map(groups.map((group) => [group._id, group.count]));
  }
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isSandboxId(id)) throw new MayflyError('invalid_id', 'That is not a sandbox id.');
}

function isSameRequest(a: SandboxRecord, b: SandboxRecord): boolean {
  return a.createdAt === b.createdAt && a.createdBy.apiKeyId === b.createdBy.apiKeyId;
}

function olderThan(cursor: string): Record<string, unknown> {
  const { at, id } = positionOf(cursor, isSandboxId);
  return { $or: [{ createdAt: { $lt: at } }, { createdAt: at, _id: { $lt: id } }] };
}
