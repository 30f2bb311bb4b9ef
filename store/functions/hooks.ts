import { isHookId } from '../../model/ids.ts';
import { type HookRecord, hookRecord } from '../../model/webhooks/hook.ts';
import { compareByAge } from '../mongo/by-age.ts';
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
  /** @returns false when that id exists */
  async create(hook: HookRecord): Promise<boolean> {
    return this.insertRecord(hook);
  }

  /** Lists a function's hooks, oldest first. @param unreadable collects the unreadable ones */
  async list({ project, name }: FunctionRef, unreadable?: Unreadable[]): Promise<HookRecord[]> {
    return (await this.find({ project, function: name }, { unreadable })).sort(compareByAge);
  }

  /** @returns false when there is none */
  async change(id: string, changes: HookChanges): Promise<boolean> {
    return this.set({ _id: this.checked(id) }, changes);
  }

  /** Removes a hook, also an unreadable one. @param of condition @returns false when there was none */
  async remove(id: string, of: Partial<Pick<HookRecord, 'project'>> = {}): Promise<boolean> {
    return this.deleteOne({ _id: this.checked(id), ...of });
  }

  async removeOf({ project, name }: FunctionRef): Promise<void> {
    await this.deleteAll({ project, function: name });
  }
}
