import { MayflyError } from '../../model/errors.ts';
import { isPlaybookId } from '../../model/ids.ts';
import { isPlaybookOver, type PlaybookRecord, playbookRecord } from '../../model/playbook/playbook.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page, PageQuery } from '../sealed/page-cursor.ts';

const UNDER_WAY = playbookRecord.shape.state.options.filter((state) => !isPlaybookOver(state));

/** The playbooks of sandboxes, one document each, `_id` = playbook id. */
export class Playbooks extends recordRepositoryOf({
  collection: 'playbooks',
  noun: 'a playbook',
  isId: isPlaybookId,
  model: playbookRecord,
}) {
  /** Writes one down, unless it is there. */
  async create(record: PlaybookRecord): Promise<void> {
    await this.insertRecord(record);
  }

  /** One page of those of a project, newest first. */
  list({ project, ...query }: PageQuery): Promise<Page<PlaybookRecord>> {
    return this.page({ project: String(project) }, query, 'createdAt');
  }

  /** Those of all projects that are not over. */
  async underWay(): Promise<PlaybookRecord[]> {
    return (await Promise.all(UNDER_WAY.map((state) => this.find({ state })))).flat();
  }

  /**
   * Sets the given fields of one that is not over: how it ended stays, whoever comes later.
   * @throws MayflyError playbook_not_found
   */
  async update(id: string, changes: Partial<Omit<PlaybookRecord, 'id'>>): Promise<void> {
    if (await this.set({ _id: this.checked(id), state: { $in: UNDER_WAY } }, changes)) return;
    if (!(await this.get(id))) throw new MayflyError('playbook_not_found', `There is no playbook ${id} in the store.`);
  }
}
