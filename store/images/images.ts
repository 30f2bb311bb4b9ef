import { MayflyError } from '../../model/errors.ts';
import { isImageId } from '../../model/ids.ts';
import { type ImageRecord, imageRecord, isImageOver } from '../../model/image/image.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page, PageQuery } from '../sealed/page-cursor.ts';

const UNDER_WAY = imageRecord.shape.state.options.filter((state) => !isImageOver(state));

/** The builds of images, one document each, `_id` = image id. */
export class Images extends recordRepositoryOf({
  collection: 'images',
  noun: 'an image',
  isId: isImageId,
  model: imageRecord,
}) {
  /** Writes one down, unless it is there. */
  async create(record: ImageRecord): Promise<void> {
    await this.insertRecord(record);
  }

  /** One page of those of a project, newest first. */
  list({ project, ...query }: PageQuery): Promise<Page<ImageRecord>> {
    return this.page({ project: String(project) }, query, 'createdAt');
  }

  /** The last of a project that made a source of that name of that snapshot. */
  async ready(project: string, name: string, snapshotId: string): Promise<ImageRecord | null> {
    const filter = { project: String(project), name: String(name), snapshotId: String(snapshotId), state: 'ready' };
    const [found] = await this.documents(filter, { sort: { createdAt: -1, _id: -1 }, limit: 1 });
    return found ? this.decrypted(found) : null;
  }

  /** Those of all projects that are not over. */
  async underWay(): Promise<ImageRecord[]> {
    return (await Promise.all(UNDER_WAY.map((state) => this.find({ state })))).flat();
  }

  /**
   * Sets the given fields of one that is not over: how it ended stays, whoever comes later.
   * @throws MayflyError image_not_found
   */
  async update(id: string, changes: Partial<Omit<ImageRecord, 'id'>>): Promise<void> {
    if (await this.set({ _id: this.checked(id), state: { $in: UNDER_WAY } }, changes)) return;
    if (!(await this.get(id))) throw new MayflyError('image_not_found', `There is no image ${id} in the store.`);
  }

  /** Of one that was never begun. */
  async remove(id: string): Promise<void> {
    await this.deleteOne({ _id: this.checked(id) });
  }
}
