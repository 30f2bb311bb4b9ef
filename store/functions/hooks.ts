import mongoose, { type Connection, type Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import type { HookFilter } from '../../model/functions/hook-filter.ts';
import { isHookId } from '../../model/ids.ts';
import type { OwnedActor } from '../../model/sandbox/sandbox.ts';
import type { SignatureScheme } from '../../webhooks/scheme.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, SEALED, strictSchema } from '../mongo/schema.ts';
import type { SealedFields, Unreadable } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';
import type { FunctionRef } from './functions.ts';

/** A way in for signed events from outside, to one function. */
export interface HookRecord {
  id: string;
  project: string;
  function: string;
  /** How a sender shows who it is. */
  scheme: SignatureScheme;
  /** One; two while it is rotated. */
  secrets: string[];
  /** Null: all events are run. */
  filter: HookFilter | null;
  /** Who may ask whether events may be sent (CloudEvents, "HTTP 1.1 Web Hooks" §4); `*`: anybody. */
  allowedOrigins: string[];
  /** ISO 8601; null: it takes events. */
  disabledAt: string | null;
  createdBy: OwnedActor;
  createdAt: string;
}

export type HookChanges = Partial<Pick<HookRecord, 'secrets' | 'disabledAt'>>;
type HookDocument = Omit<HookRecord, 'id'> & { _id: string };

/** Hooks of functions, one document each. */
export class Hooks {
  readonly #model: Model<HookDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('hooks');
    const schema = strictSchema<HookDocument>({
      _id: NAME,
      project: NAME,
      function: NAME,
      scheme: { type: mongoose.Schema.Types.Mixed, required: true },
      secrets: SEALED,
      filter: SEALED,
      allowedOrigins: [String],
      disabledAt: NULLABLE_TEXT,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
    });
    this.#model = connection.model<HookDocument>('Hook', schema, 'hooks');
  }

  /** @returns false: there is one of that id */
  async create({ id, ...hook }: HookRecord): Promise<boolean> {
    checkId(id);
    try {
      await reaching('record a hook', () => this.#model.create({ ...this.#fields.sealed(id, hook), _id: id }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(id: string): Promise<HookRecord | null> {
    checkId(id);
    const found = await reaching('read a hook', () => this.#model.findById(id).lean<HookDocument>());
    return found && this.#record(found);
  }

  /** Those of a function, the oldest first. @param unreadable takes those that cannot be read */
  async list({ project, name }: FunctionRef, unreadable?: Unreadable[]): Promise<HookRecord[]> {
    const found = await reaching('list hooks', () =>
      this.#model.find({ project, function: name }).lean<HookDocument[]>(),
    );
    const order = (hook: HookRecord) => `${hook.createdAt} ${hook.id}`;
    return this.#fields.records(found, recordOf, unreadable).sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  /** @returns whether there is one */
  async change(id: string, changes: HookChanges): Promise<boolean> {
    checkId(id);
    const set = this.#fields.sealed(id, changes);
    const { matchedCount } = await reaching('change a hook', () =>
      this.#model.updateOne({ _id: id }, { $set: set }, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  /** Also one that cannot be read. @param of what holds of it @returns whether there was one */
  async remove(id: string, of: Partial<Pick<HookRecord, 'project'>> = {}): Promise<boolean> {
    checkId(id);
    return reaching('remove a hook', async () => (await this.#model.deleteOne({ _id: id, ...of })).deletedCount > 0);
  }

  /** Removes all of a function. */
  async removeOf({ project, name }: FunctionRef): Promise<void> {
    await reaching('remove the hooks of a function', () => this.#model.deleteMany({ project, function: name }));
  }

  #record(document: HookDocument): HookRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...hook }: HookDocument): HookRecord {
  return { id: _id, ...hook };
}

/** @throws MayflyError invalid_id */
function checkId(id: string): void {
  if (typeof id !== 'string' || !isHookId(id)) throw new MayflyError('invalid_id', 'That is not the id of a hook.');
}
