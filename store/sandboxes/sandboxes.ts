import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxName } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { isFinal, isUnclaimed, SANDBOX_STATES } from '../../model/sandbox/sandbox-state.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { counted } from '../mongo/count.ts';
import { isDuplicateKey } from '../mongo/failure.ts';
import { modelOf } from '../mongo/model.ts';
import { cursorFilter, type Page, toCursor, toPage } from '../sealed/page-cursor.ts';
import type { EncryptedFields } from '../sealed/sealed-fields.ts';
import type { StoreEncryption } from '../sealed/sealing.ts';
import { assertSandboxId } from './assert-sandbox-id.ts';
import type { SandboxDocument } from './sandbox-document.ts';
import {
  documentOf,
  heldNameOf,
  livingDocumentOf,
  recordOf,
  sandboxSchema,
  toSetOperator,
} from './sandbox-document.ts';

export type SandboxPage = Page<SandboxRecord>;

export interface SandboxQuery {
  limit: number;
  cursor?: string | undefined;
  state?: SandboxState;
  alive?: boolean;
  project?: string;
}

type Changes = Partial<Omit<SandboxRecord, 'id' | 'name' | 'project'>>;

/** Fields that a claim sets in a pool member. */
type ClaimChanges = Partial<Omit<SandboxRecord, 'id' | 'project'>>;

/** Newest first, then by id, so that pages neither repeat nor skip a record. */
const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/**
 * Records of sandboxes, `_id` = sandbox id. Only a sandbox's own workflow writes its record, except that the API may
 * insert it. Ended ones are in a collection of their own: a record that ends is written there before it is removed
 * here, and reads start here, so it is found at every moment. Only a living record holds a name, which is free as soon
 * as that is removed.
 */
export class Sandboxes {
  readonly #alive: Model<SandboxDocument>;
  readonly #ended: Model<SandboxDocument>;
  readonly #fields: EncryptedFields;

  constructor(connection: Connection, sealing: StoreEncryption) {
    this.#alive = modelOf(connection, 'sandboxes', sandboxSchema());
    this.#ended = modelOf(connection, 'endedSandboxes', sandboxSchema());
    this.#fields = sealing.of('sandboxes', this.#alive.schema);
    sealing.of('endedSandboxes', this.#ended.schema);
  }

  /**
   * Inserts the record. A repeated request (a retried step) returns the present one.
   * @throws MayflyError name_taken; internal when the id is taken by another request
   */
  async create(record: SandboxRecord): Promise<SandboxRecord> {
    assertSandboxId(record.id);
    for (;;) {
      const isNew = await this.#insert(record);
      const ended = isFinal(record.state) ? null : await this.#removeLateDuplicate(record.id);
      if (isNew && !ended) return record;
      const present = ended ?? (await this.get(record.id));
      if (present && isSameRequest(present, record)) return present;
      if (present || record.name === null) {
        throw new MayflyError('internal', `The id ${record.id} was given to two requests.`);
      }
      if (await this.named(record.name, record.project)) {
        throw new MayflyError('name_taken', `Another sandbox that lives is named ${record.name}.`);
      }
      // The holder of the name has just ended: try again.
    }
  }

  /**
   * Writes a whole record, over any other, also in a store that was set back. If another sandbox has its name by now,
   * the record keeps the name, but is not found by it.
   */
  async put(record: SandboxRecord): Promise<void> {
    assertSandboxId(record.id);
    if (isFinal(record.state)) return this.#move(documentOf(record), this.#alive, this.#ended);
    try {
      await this.#move(livingDocumentOf(record), this.#ended, this.#alive);
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      await this.#move(documentOf(record), this.#ended, this.#alive);
    }
  }

  /** Returns the ended record, and removes the living one that a late repetition of its request may have inserted. */
  async #removeLateDuplicate(id: string): Promise<SandboxRecord | null> {
    const ended = await this.#find(this.#ended, id);
    if (!ended) return null;
    await this.#alive.deleteOne({ _id: id, state: 'requested' });
    return recordOf(ended);
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<SandboxRecord | null> {
    assertSandboxId(id);
    // Reads the living twice: the record may be moved back to them between the reads.
    const found = await this.#findLivingOrEnded(id);
    return found && recordOf(found);
  }

  /**
   * Returns the host of a sandbox, also of an ended one, without decryption; null for none. @throws MayflyError
   * invalid_id
   */
  async hostIdOf(id: string): Promise<string | null> {
    assertSandboxId(id);
    const look = (home: Model<SandboxDocument>) =>
      home.findById(id, { hostId: 1 }).lean<Pick<SandboxDocument, 'hostId'>>();
    return ((await look(this.#alive)) ?? (await look(this.#ended)) ?? (await look(this.#alive)))?.hostId ?? null;
  }

  async #findLivingOrEnded(id: string): Promise<SandboxDocument | null> {
    const look = (home: Model<SandboxDocument>) => this.#find(home, id);
    return (await look(this.#alive)) ?? (await look(this.#ended)) ?? (await look(this.#alive));
  }

  /** Returns the living sandbox of that name in the project. @throws MayflyError invalid_id */
  async named(name: string, project: string): Promise<SandboxRecord | null> {
    if (typeof name !== 'string' || !isSandboxName(name)) {
      throw new MayflyError('invalid_id', 'That is not the name of a sandbox.');
    }
    const found = await this.#alive.findOne({ heldName: heldNameOf(project, name) }).lean<SandboxDocument>();
    return found && recordOf(this.#fields.opened(found));
  }

  /**
   * Sets fields, each as a whole, and returns the new record. The caller sets `updatedAt`.
   * @throws MayflyError sandbox_not_found; sandbox_ended when a change would reopen an ended one
   */
  async update(id: string, changes: Changes): Promise<SandboxRecord> {
    assertSandboxId(id);
    const isEnd = changes.state !== undefined && isFinal(changes.state);
    const changed = isEnd ? await this.#end(id, changes) : await this.#change(this.#alive, id, toSetOperator(changes));
    const late = changed ?? (await this.#changeEnded(id, changes));
    if (!late) throw new MayflyError('sandbox_not_found', `There is no sandbox ${id} in the store.`);
    return recordOf(late);
  }

  /** Returns null for a sandbox that does not live, perhaps because it was ended before. */
  async #end(id: string, changes: Changes): Promise<SandboxDocument | null> {
    const present = await this.#find(this.#alive, id);
    if (!present) return null;
    const { heldName: _freed, ...rest } = present;
    const ended = { ...rest, ...toSetOperator(changes) };
    await this.#move(ended, this.#alive, this.#ended);
    return ended;
  }

  /** Changes an ended record, which stays ended. */
  async #changeEnded(id: string, changes: Changes): Promise<SandboxDocument | null> {
    const { state } = changes;
    if (state === undefined || isFinal(state)) return this.#change(this.#ended, id, toSetOperator(changes));
    const ended = await this.#find(this.#ended, id);
    if (ended)
      throw new MayflyError('sandbox_ended', `${id} is ${ended.state}, and does not become ${state} any more.`);
    return null;
  }

  /**
   * Assigns a pool member to the caller that has claimed it, and to its project. Idempotent.
   * @throws MayflyError name_taken, sandbox_not_found
   */
  async claim({ id, project }: Pick<SandboxRecord, 'id' | 'project'>, changes: ClaimChanges): Promise<SandboxRecord> {
    assertSandboxId(id);
    const { name = null } = changes;
    const set = { ...toSetOperator(changes), project, ...(name !== null && { heldName: heldNameOf(project, name) }) };
    try {
      const claimed = await this.#change(this.#alive, id, set);
      if (claimed) return recordOf(claimed);
    } catch (error) {
      // Servers report a duplicate key of an update in different ways, so the name is read.
      const holder = name === null ? null : await this.named(name, project);
      if (holder === null || holder.id === id) throw error;
      throw new MayflyError('name_taken', `Another sandbox that lives is named ${name}.`, { cause: error });
    }
    throw new MayflyError('sandbox_not_found', `There is no sandbox ${id} in the store.`);
  }

  /**
   * Returns one page, newest first. Unclaimed pool members are only listed for the state `warm`. New records do not
   * move the following pages.
   * @param query.alive only living ones
   * @param query.project only of this project
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list(query: SandboxQuery): Promise<SandboxPage> {
    if (query.state === 'warm') return this.#page(query);
    const items: SandboxRecord[] = [];
    for (let from = query; ; ) {
      const page = await this.#page(from);
      items.push(...page.items.filter((record) => !isUnclaimed(record)));
      const last = items[query.limit - 1];
      const isMore = items.length > query.limit || page.nextCursor !== null;
      if (last && isMore) {
        return { items: items.slice(0, query.limit), nextCursor: toCursor({ at: last.createdAt, id: last.id }) };
      }
      if (page.nextCursor === null) return { items, nextCursor: null };
      from = { ...query, cursor: page.nextCursor };
    }
  }

  async #page(query: SandboxQuery): Promise<SandboxPage> {
    const { limit, cursor, state, alive, project } = query;
    const filter = {
      ...(project !== undefined && { project }),
      ...(state && { state }),
      ...cursorFilter(cursor, 'createdAt', isSandboxId),
    };
    // Reads the living first: a sandbox that ends in between is then in both, not in neither.
    const homes = state ? [this.#homeOf(state)] : alive ? [this.#alive] : [this.#alive, this.#ended];
    const found = new Map<string, SandboxDocument>();
    for (const home of homes) {
      const part = await home
        .find(filter)
        .sort(NEWEST_FIRST)
        .limit(limit + 1)
        .lean<SandboxDocument[]>();
      for (const document of part) found.set(document._id, document);
    }
    const ordered = [...found.values()].sort(byAge);
    return toPage(this.#fields, ordered, { limit, at: ({ createdAt }) => createdAt, recordOf });
  }

  /** Returns every sandbox in one of `states`. Ended ones are only read when their states are among them. */
  async all(states: readonly SandboxState[] = SANDBOX_STATES): Promise<SandboxRecord[]> {
    const found = new Map<string, SandboxDocument>();
    for (const home of new Set(states.map((state) => this.#homeOf(state)))) {
      const part = await home.find({ state: { $in: [...states] } }).lean<SandboxDocument[]>();
      for (const document of part) found.set(document._id, document);
    }
    return this.#fields.records([...found.values()], recordOf);
  }

  /** Counts the sandboxes in each state; states without any are absent. */
  async countByState(): Promise<Map<SandboxState, number>> {
    const count = (state: SandboxState) => counted('count sandboxes', this.#homeOf(state), { state });
    const counts = await Promise.all(SANDBOX_STATES.map(async (state) => [state, await count(state)] as const));
    return new Map(counts.filter(([, count]) => count > 0));
  }

  /** @returns false when the id or the name is taken */
  async #insert(record: SandboxRecord): Promise<boolean> {
    const isEnded = isFinal(record.state);
    try {
      const document = isEnded ? documentOf(record) : livingDocumentOf(record);
      await (isEnded ? this.#ended : this.#alive).create(this.#fields.sealed(record.id, document));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  #homeOf(state: SandboxState): Model<SandboxDocument> {
    return isFinal(state) ? this.#ended : this.#alive;
  }

  async #find(home: Model<SandboxDocument>, id: string): Promise<SandboxDocument | null> {
    const found = await home.findById(id).lean<SandboxDocument>();
    return found && this.#fields.opened(found);
  }

  async #change(
    home: Model<SandboxDocument>,
    id: string,
    changes: Partial<SandboxDocument>,
  ): Promise<SandboxDocument | null> {
    const set = this.#fields.sealed(id, changes);
    const found = await home
      .findOneAndUpdate({ _id: id }, { $set: set }, { returnDocument: 'after', runValidators: true })
      .lean<SandboxDocument>();
    return found && this.#fields.opened(found);
  }

  /** Moves a document. Safe to repeat after an interruption. */
  async #move(document: SandboxDocument, from: Model<SandboxDocument>, to: Model<SandboxDocument>): Promise<void> {
    const { _id } = document;
    const moved = this.#fields.sealed(_id, document);
    await to.replaceOne({ _id }, moved, { upsert: true, runValidators: true });
    await from.deleteOne({ _id });
  }
}

function byAge(a: SandboxDocument, b: SandboxDocument): number {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a._id > b._id ? -1 : 1;
}

/** Reports whether two records are of one request. A claimed pool member has its caller's request by now. */
function isSameRequest(a: SandboxRecord, b: SandboxRecord): boolean {
  if (a.pool && a.pool.name === b.pool?.name) return true;
  return a.createdAt === b.createdAt && a.createdBy.apiKeyId === b.createdBy.apiKeyId;
}
