import { MayflyError } from '../../model/errors.ts';
import { type FunctionRecord, functionRecord, isFunctionName } from '../../model/functions/function.ts';
import { idPrefixFilter } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';

export type FunctionRef = Pick<FunctionRecord, 'project' | 'name'>;

/** Functions of projects, `_id` = `<project>/<name>`. */
export class Functions extends repositoryOf({ collection: 'functions', noun: 'a function', model: functionRecord }) {
  /** @returns false when that name exists */
  async create(record: FunctionRecord): Promise<boolean> {
    return this.insert({ ...record, _id: idOf(record) });
  }

  async get(ref: FunctionRef): Promise<FunctionRecord | null> {
    return this.findById(idOf(ref));
  }

  /** Lists a project's functions by name. */
  list(project: string): Promise<FunctionRecord[]> {
    return this.find(idPrefixFilter(project), { sort: { _id: 1 } });
  }

  /** Returns the draining functions of all projects, which are removed when their runs have ended. */
  draining(): Promise<FunctionRecord[]> {
    return this.find({ state: 'draining' });
  }

  /** @returns false when there is none, or `of` does not match */
  async change(
    ref: FunctionRef,
    changes: Partial<Omit<FunctionRecord, 'project' | 'name'>>,
    of: Partial<Pick<FunctionRecord, 'state' | 'activeVersion'>> = {},
  ): Promise<boolean> {
    return this.set({ _id: idOf(ref), ...of }, changes);
  }

  async remove(ref: FunctionRef): Promise<void> {
    await this.deleteOne({ _id: idOf(ref) });
  }
}

/** @throws MayflyError invalid_id */
function idOf({ project, name }: FunctionRef): string {
  if (typeof name === 'string' && isFunctionName(name)) return `${String(project)}/${name}`;
  throw new MayflyError('invalid_id', 'That is not the name of a function.');
}
