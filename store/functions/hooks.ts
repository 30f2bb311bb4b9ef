import { isHookId } from '../../model/ids.ts';
import { type HookRecord, hookRecord } from '../../model/webhooks/hook.ts';
import { byAge } from '../mongo/by-age.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Unreadable } from '../sealed/sealed-fields.ts';
import type { FunctionRef } from './functions.ts';

export type HookChanges = Partial<Pick<HookRecord, 'secrets' | 'disabledAt'>>;

/** Hooks of functions, one document each. */
export class Hooks extends recordRepositoryOf({
  collection: 'hooks',
  noun: 'a hook',
  isId: isHookId,
  model: hookRecord,
}) {
  /** @returns false: there is one of that id */
  async create(hook: HookRecord): Promise<boolean> {
    return this.insertRecord(hook);
  }

  /** Those of a function, the oldest first. @param unreadable takes those that cannot be read */
  async list({ project, name }: FunctionRef, unreadable?: Unreadable[]): Promise<HookRecord[]> {
    return (await this.find({ project, function: name }, { unreadable })).sort(byAge);
  }

  /** @returns whether there is one */
  async change(id: string, changes: HookChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id) }, changes);
  }

  /** Also one that cannot be read. @param of what holds of it @returns whether there was one */
  async remove(id: string, of: Partial<Pick<HookRecord, 'project'>> = {}): Promise<boolean> {
    return this.deleteOne({ _id: this.checked(id), ...of });
  }

  /** Removes all of a function. */
  async removeOf({ project, name }: FunctionRef): Promise<void> {
    await this.deleteAll({ project, function: name });
  }
}
