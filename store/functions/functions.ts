import type { Connection, Model } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { FUNCTION_STATES, type FunctionRecord, isFunctionName } from '../../model/functions/function.ts';
import { below } from '../mongo/below.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, strictSchema } from '../mongo/schema.ts';

type FunctionDocument = FunctionRecord & {
  /** `<project>/<name>` */
  _id: string;
};
export type FunctionRef = Pick<FunctionRecord, 'project' | 'name'>;

/** The functions of projects, one document each. */
export class Functions {
  readonly #model: Model<FunctionDocument>;

  constructor(connection: Connection) {
    const schema = strictSchema<FunctionDocument>({
      _id: NAME,
      project: NAME,
      name: NAME,
      state: { type: String, required: true, enum: FUNCTION_STATES },
      activeVersion: NUMBER,
      fullUntil: NULLABLE_TEXT,
      createdBy: { type: actorPart(), required: true },
      createdAt: NAME,
      updatedAt: NAME,
    });
    this.#model = connection.model<FunctionDocument>('Function', schema, 'functions');
  }

  /** @returns false: there is one of that name */
  async create(record: FunctionRecord): Promise<boolean> {
    try {
      await reaching('record a function', () => this.#model.create({ ...record, _id: idOf(record) }));
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async get(ref: FunctionRef): Promise<FunctionRecord | null> {
    const _id = idOf(ref);
    const found = await reaching('read a function', () => this.#model.findById(_id).lean<FunctionDocument>());
    return found && recordOf(found);
  }

  /** Of a project, by name. */
  async list(project: string): Promise<FunctionRecord[]> {
    const found = await reaching('list functions', () =>
      this.#model.find(below(project)).sort({ _id: 1 }).lean<FunctionDocument[]>(),
    );
    return found.map(recordOf);
  }

  /** Of all projects: those that go when their runs have ended. */
  async draining(): Promise<FunctionRecord[]> {
    const found = await reaching('read the functions that go', () =>
      this.#model.find({ state: 'draining' }).lean<FunctionDocument[]>(),
    );
    return found.map(recordOf);
  }

  /** @returns false: there is none, or `of` does not hold of it */
  async change(
    ref: FunctionRef,
    changes: Partial<Omit<FunctionRecord, 'project' | 'name'>>,
    of: Partial<Pick<FunctionRecord, 'state' | 'activeVersion'>> = {},
  ): Promise<boolean> {
    const { matchedCount } = await reaching('change a function', () =>
      this.#model.updateOne({ _id: idOf(ref), ...of }, { $set: changes }, { runValidators: true }),
    );
    return matchedCount > 0;
  }

  async remove(ref: FunctionRef): Promise<void> {
    await reaching('remove a function', () => this.#model.deleteOne({ _id: idOf(ref) }));
  }
}

/** @throws MayflyError invalid_id */
function idOf({ project, name }: FunctionRef): string {
  if (typeof name === 'string' && isFunctionName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a function.');
}

function recordOf({ _id, ...record }: FunctionDocument): FunctionRecord {
  return record;
}
