import { isSnapshotId } from '../../model/ids.ts';
import { type TemplateRecord, type TemplateState, templateRecord } from '../../model/templates/template.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

/** Templates, `_id` = template id. None is ever removed. */
export class Templates extends recordRepositoryOf({
  collection: 'templates',
  noun: 'a template',
  isId: isSnapshotId,
  model: templateRecord,
}) {
  /** Replaces a whole record, which only its workflow writes. */
  async put({ id, ...rest }: TemplateRecord): Promise<void> {
    await this.overwrite({ ...rest, _id: this.checked(id) });
  }

  /** Returns all in one of these states, newest first. */
  async all(states: readonly TemplateState[]): Promise<TemplateRecord[]> {
    const found = await this.find({ state: { $in: [...states] } });
    return found.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
  }
}
