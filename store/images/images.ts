import type { Connection } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isImageId } from '../../model/ids.ts';
import { IMAGE_STATES, isImageOver } from '../../model/image/image.ts';
import type { ImageRecord } from '../../model/image/image-record.ts';
import { actorPart, ENCRYPTED, ENCRYPTED_TEXT, NAME, NULLABLE_TEXT, NUMBER, strictPart } from '../mongo/schema.ts';
import { RecordRepository } from '../repository/repository.ts';
import type { Page, PageQuery } from '../sealed/page-cursor.ts';
import type { Sealing } from '../sealed/sealing.ts';

const UNDER_WAY = IMAGE_STATES.filter((state) => !isImageOver(state));

/** The builds of images, one document each, `_id` = image id. */
export class Images extends RecordRepository<ImageRecord> {
  constructor(connection: Connection, sealing: Sealing) {
    super(connection, sealing, { collection: 'images', noun: 'an image', isId: isImageId, fields: imageFields() });
  }

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

function imageFields() {
  return {
    project: NAME,
    name: NAME,
    state: { type: String, required: true, enum: IMAGE_STATES },
    request: ENCRYPTED,
    source: NAME,
    content: NAME,
    builderId: NAME,
    contents: { type: [strictPart({ source: NAME, content: NAME })], default: undefined },
    stages: { type: [strictPart({ place: NUMBER, builderId: NAME, first: NUMBER })], default: undefined },
    checkerId: { type: String, default: undefined },
    steps: NUMBER,
    cached: NUMBER,
    done: NUMBER,
    snapshotId: NULLABLE_TEXT,
    failure: ENCRYPTED,
    waitingFor: ENCRYPTED_TEXT,
    begin: { ...ENCRYPTED, default: undefined },
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    updatedAt: NAME,
  };
}
