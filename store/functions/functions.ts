import { MayflyError } from '../../model/errors.ts';
import { type FunctionRecord, functionRecord, isFunctionName } from '../../model/functions/function.ts';
import { below } from '../mongo/below.ts';
import { repositoryOf } from '../repository/repository.ts';

export type FunctionRef = Pick<FunctionRecord, 'project' | 'name'>;

/** The functions of projects, one document each, `_id` = `<project>/<name>`. */
export class Functions extends repositoryOf({ collection: 'functions', noun: 'a function', model: functionRecord }) {
  /** @returns false: there is one of that name */
  async create(record: FunctionRecord): Promise<boolean> {
    return this.insert({ ...record, _id: idOf(record) });
  }

  async get(ref: FunctionRef): Promise<FunctionRecord | null> {
    return this.findById(idOf(ref));
  }

  /** Of a project, by name. */
  list(project: string): Promise<FunctionRecord[]> {
    return this.find(below(project), { sort: { _id: 1 } });
  }

  /** Of all projects: those that go when their runs have ended. */
  draining(): Promise<FunctionRecord[]> {
    return this.find({ state: 'draining' });
  }

  /** @returns false: there is none, or `of` does not hold of it */
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
