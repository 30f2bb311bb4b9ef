import { MayflyError } from '../../../model/errors.ts';
import {
  OPEN_SETUP_STATES,
  type SetupRecord,
  type SetupState,
  setupRecord,
} from '../../../model/functions/setup/setup.ts';
import { repositoryOf } from '../../repository/repository.ts';

export type SetupId = Pick<SetupRecord, 'project' | 'key'>;
type Changes = Partial<Omit<SetupRecord, 'project' | 'key' | 'seed' | 'revision' | 'updatedAt'>>;

/** Setups of functions, one for each content, `_id` = `<project>/<key>`. */
export class FunctionSetups extends repositoryOf({
  collection: 'functionSetups',
  noun: 'a setup',
  model: setupRecord,
}) {
  /** @returns false when that content has one */
  async create(record: SetupRecord): Promise<boolean> {
    return this.insert({ ...record, _id: idOf(record) });
  }

  async get(id: SetupId): Promise<SetupRecord | null> {
    return this.findById(idOf(id));
  }

  /** Returns the setups of all projects whose workflow has work to do. */
  open(): Promise<SetupRecord[]> {
    return this.#in(OPEN_SETUP_STATES);
  }

  all(): Promise<SetupRecord[]> {
    return this.#in(setupRecord.shape.state.options);
  }

  /** @param seen record on which the change is based @returns false when it has changed since */
  async change(seen: SetupRecord, changes: Changes): Promise<boolean> {
    const { revision } = seen;
    const marks = { updatedAt: new Date().toISOString(), revision: revision + 1 };
    return this.set({ _id: idOf(seen), revision }, { ...changes, ...marks });
  }

  /** @returns false when it has changed since */
  async remove(seen: SetupRecord): Promise<boolean> {
    return this.deleteOne({ _id: idOf(seen), revision: seen.revision });
  }

  #in(states: readonly SetupState[]): Promise<SetupRecord[]> {
    return this.find({ state: { $in: [...states] } });
  }
}

/** @throws MayflyError invalid_id */
function idOf({ project, key }: SetupId): string {
  if (typeof key === 'string' && /^[0-9a-f]{64}$/.test(key)) return `${String(project)}/${key}`;
  throw new MayflyError('invalid_id', 'That is not the key of a setup.');
}
