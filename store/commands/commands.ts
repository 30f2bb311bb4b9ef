import { MayflyError } from '../../model/errors.ts';
import { isCommandId } from '../../model/ids.ts';
import { type CommandRecord, commandRecord } from '../../model/sandbox/command.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page } from '../sealed/page-cursor.ts';

/** The records of commands; `_id` = command id. Inserted by the API, then written by the worker of its host only. */
export class Commands extends recordRepositoryOf({
  collection: 'commands',
  noun: 'a command',
  isId: isCommandId,
  model: commandRecord,
}) {
  /** Inserts the record; an existing one (of a repeated request) stays as it is. */
  async create(record: CommandRecord): Promise<void> {
    await this.insertRecord(record);
  }

  /** Sets the given fields, each as a whole. @throws MayflyError command_not_found */
  async update(id: string, changes: Partial<Omit<CommandRecord, 'id'>>): Promise<void> {
    if (await this.set({ _id: this.checked(id) }, changes)) return;
    throw new MayflyError('command_not_found', `There is no command ${id} in the store.`);
  }

  /** Returns one page of a sandbox's commands, newest first. */
  list({
    sandboxId,
    ...query
  }: {
    sandboxId: string;
    limit: number;
    cursor?: string | undefined;
  }): Promise<Page<CommandRecord>> {
    return this.page({ sandboxId }, query, 'requestedAt');
  }

  /**
   * Returns commands that ran in a sandbox during any part of an interval, oldest first, at most `limit`. Start and end
   * are by the guest's clock.
   */
  between(query: { sandboxId: string; from: string; to: string; limit: number }): Promise<CommandRecord[]> {
    const { sandboxId, from, to, limit } = query;
    const $or = [{ endedAt: null }, { endedAt: { $gt: from } }];
    return this.find({ sandboxId, startedAt: { $ne: null, $lt: to }, $or }, { sort: { startedAt: 1, _id: 1 }, limit });
  }
}
