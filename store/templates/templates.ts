import { isSnapshotId } from '../../model/ids.ts';
import { type TemplateRecord, type TemplateState, templateRecord } from '../../model/templates/template.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

/** The records of templates, one document each, `_id` = template id. None is ever removed. */
export class Templates extends recordRepositoryOf({
  collection: 'templates',
  noun: 'a template',
  isId: isSnapshotId,
  model: templateRecord,
}) {
  /** Writes all of a record, whatever the store has of it: its workflow is the only one that does. */
  async put({ id, ...rest }: TemplateRecord): Promise<void> {
    await this.overwrite({ ...rest, _id: this.checked(id) });
  }

  /** All that are in one of these states, the newest first. */
  async all(states: readonly TemplateState[]): Promise<TemplateRecord[]> {
    const found = await this.find({ state: { $in: [...states] } });
    return found.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
  }
}
