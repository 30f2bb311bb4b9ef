import { MayflyError } from '../../model/errors.ts';
import { isImageId } from '../../model/ids.ts';
import { type ImageRecord, imageRecord, isImageFinal } from '../../model/image/image.ts';
import { recordRepositoryOf } from '../repository/repository.ts';
import type { Page, PageQuery } from '../sealed/page-cursor.ts';

const UNDER_WAY = imageRecord.shape.state.options.filter((state) => !isImageFinal(state));

/** Builds of images, `_id` = image id. */
export class Images extends recordRepositoryOf({
  collection: 'images',
  noun: 'an image',
  isId: isImageId,
  model: imageRecord,
}) {
  /** Inserts a build, unless it exists. */
  async create(record: ImageRecord): Promise<void> {
    await this.insertRecord(record);
  }

  /** Returns one page of a project's builds, newest first. */
  list({ project, ...query }: PageQuery): Promise<Page<ImageRecord>> {
    return this.page({ project: String(project) }, query, 'createdAt');
  }

  /** Returns the latest build of a project that made a source of that name from that snapshot. */
  async ready(project: string, name: string, snapshotId: string): Promise<ImageRecord | null> {
    const filter = { project: String(project), name: String(name), snapshotId: String(snapshotId), state: 'ready' };
    const [found] = await this.documents(filter, { sort: { createdAt: -1, _id: -1 }, limit: 1 });
    return found ? this.decrypted(found) : null;
  }

  async underWay(): Promise<ImageRecord[]> {
    return (await Promise.all(UNDER_WAY.map((state) => this.find({ state })))).flat();
  }

  /** Sets fields of an unfinished build; the first end state stays. @throws MayflyError image_not_found */
  async update(id: string, changes: Partial<Omit<ImageRecord, 'id'>>): Promise<void> {
    if (await this.set({ _id: this.checked(id), state: { $in: UNDER_WAY } }, changes)) return;
    if (!(await this.get(id))) throw new MayflyError('image_not_found', `There is no image ${id} in the store.`);
  }

  /** Removes a build that never started. */
  async remove(id: string): Promise<void> {
    await this.deleteOne({ _id: this.checked(id) });
  }
}
