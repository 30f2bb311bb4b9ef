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

/** What is saved for functions with a setup, one document for each content, `_id` = `<project>/<key>`. */
export class FunctionSetups extends repositoryOf({
  collection: 'functionSetups',
  noun: 'a setup',
  model: setupRecord,
}) {
  /** @returns false: there is one of that content */
  async create(record: SetupRecord): Promise<boolean> {
    return this.insert({ ...record, _id: idOf(record) });
  }

  async get(id: SetupId): Promise<SetupRecord | null> {
    return this.findById(idOf(id));
  }

  /** Of all projects: those whose workflow has something to do. */
  open(): Promise<SetupRecord[]> {
    return this.#in(OPEN_SETUP_STATES);
  }

  /** Of all projects. */
  all(): Promise<SetupRecord[]> {
    return this.#in(setupRecord.shape.state.options);
  }

  /** @param seen as it was when that was decided @returns false: it has changed since */
  async change(seen: SetupRecord, changes: Changes): Promise<boolean> {
    const { revision } = seen;
    const marks = { updatedAt: new Date().toISOString(), revision: revision + 1 };
    return this.set({ _id: idOf(seen), revision }, { ...changes, ...marks });
  }

  /** @returns false: it has changed since */
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
