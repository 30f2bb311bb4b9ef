import { MayflyError } from '../../model/errors.ts';
import { isPlaybookId } from '../../model/ids.ts';
import { isPlaybookOver, type PlaybookRecord, playbookRecord } from '../../model/playbook/playbook.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page, PageQuery } from '../sealed/page-cursor.ts';

const UNDER_WAY = playbookRecord.shape.state.options.filter((state) => !isPlaybookOver(state));

/** Playbooks of sandboxes, `_id` = playbook id. */
export class Playbooks extends recordRepositoryOf({
  collection: 'playbooks',
  noun: 'a playbook',
  isId: isPlaybookId,
  model: playbookRecord,
}) {
  /** Inserts a playbook, unless it exists. */
  async create(record: PlaybookRecord): Promise<void> {
    await this.insertRecord(record);
  }

  /** Returns one page of a project's playbooks, newest first. */
  list({ project, ...query }: PageQuery): Promise<Page<PlaybookRecord>> {
    return this.page({ project: String(project) }, query, 'createdAt');
  }

  async underWay(): Promise<PlaybookRecord[]> {
    return (await Promise.all(UNDER_WAY.map((state) => this.find({ state })))).flat();
  }

  /** Sets fields of an unfinished playbook; the first end state stays. @throws MayflyError playbook_not_found */
  async update(id: string, changes: Partial<Omit<PlaybookRecord, 'id'>>): Promise<void> {
    if (await this.set({ _id: this.checked(id), state: { $in: UNDER_WAY } }, changes)) return;
    if (!(await this.get(id))) throw new MayflyError('playbook_not_found', `There is no playbook ${id} in the store.`);
  }
}
