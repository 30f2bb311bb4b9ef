import { type Connection, type Model, Schema } from 'mongoose';
import { MayflyError } from '../../model/errors.ts';
import { isImageId } from '../../model/ids.ts';
import { IMAGE_STATES, isImageOver } from '../../model/image/image.ts';
import type { ImageRecord } from '../../model/image/image-record.ts';
import { isDuplicateKey, reaching } from '../mongo/failure.ts';
import { actorPart, NAME, NULLABLE_TEXT, NUMBER, SEALED, strictPart, strictSchema } from '../mongo/schema.ts';
import { olderThan, type Page, type PageQuery, pageOf } from '../sealed/page-cursor.ts';
import type { SealedFields } from '../sealed/sealed-fields.ts';
import type { Sealing } from '../sealed/sealing.ts';

const UNDER_WAY = IMAGE_STATES.filter((state) => !isImageOver(state));

type ImageDocument = Omit<ImageRecord, 'id'> & { _id: string };

/** The builds of images, one document each, `_id` = image id. */
export class Images {
  readonly #model: Model<ImageDocument>;
  readonly #fields: SealedFields;

  constructor(connection: Connection, sealing: Sealing) {
    this.#fields = sealing.of('images');
    this.#model = connection.model<ImageDocument>('Image', imageSchema(), 'images');
  }

  /** Writes one down, unless it is there. */
  async create({ id, ...rest }: ImageRecord): Promise<void> {
    checkId(id);
    const document = { ...this.#fields.sealed(id, rest), _id: id };
    try {
      await reaching('record an image', () => this.#model.create(document));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** @throws MayflyError invalid_id */
  async get(id: string): Promise<ImageRecord | null> {
    checkId(id);
    const found = await reaching('read an image', () => this.#model.findById(id).lean<ImageDocument>());
    return found && this.#record(found);
  }

  /**
   * One page of those of a project, newest first.
   * @throws MayflyError invalid_request when the cursor is not one of ours
   */
  async list({ project, limit, cursor }: PageQuery): Promise<Page<ImageRecord>> {
    const filter = { project: String(project), ...olderThan(cursor, 'createdAt', isImageId) };
    const found = await reaching('list images', () =>
      this.#model
        .find(filter)
        .sort({ createdAt: -1, _id: -1 })
        .limit(limit + 1)
        .lean<ImageDocument[]>(),
    );
    return pageOf(this.#fields, found, { limit, at: ({ createdAt }) => createdAt, recordOf });
  }

  /** The last of a project that made a source of that name of that snapshot. */
  async ready(project: string, name: string, snapshotId: string): Promise<ImageRecord | null> {
    const filter = {
      project: String(project),
      name: String(name),
      snapshotId: String(snapshotId),
      state: 'ready' as const,
    };
    const found = await reaching('read the last image of a name', () =>
      this.#model.findOne(filter).sort({ createdAt: -1, _id: -1 }).lean<ImageDocument>(),
    );
    return found && this.#record(found);
  }

  /** Those of all projects that are not over. */
  async underWay(): Promise<ImageRecord[]> {
    const found = await Promise.all(
      UNDER_WAY.map((state) =>
        reaching('read the images under way', () => this.#model.find({ state }).lean<ImageDocument[]>()),
      ),
    );
    return this.#fields.records(found.flat(), recordOf);
  }

  /**
   * Sets the given fields of one that is not over: how it ended stays, whoever comes later.
   * @throws MayflyError image_not_found
   */
  async update(id: string, changes: Partial<Omit<ImageRecord, 'id'>>): Promise<void> {
    checkId(id);
    const underWay = { _id: id, state: { $in: UNDER_WAY } };
    const { matchedCount } = await reaching('change an image', () =>
      this.#model.updateOne(underWay, { $set: this.#fields.sealed(id, changes) }, { runValidators: true }),
    );
    if (matchedCount > 0 || (await this.get(id))) return;
    throw new MayflyError('image_not_found', `There is no image ${id} in the store.`);
  }

  /** Of one that was never begun. */
  async remove(id: string): Promise<void> {
    checkId(id);
    await reaching('forget an image', () => this.#model.deleteOne({ _id: id }));
  }

  #record(document: ImageDocument): ImageRecord {
    return recordOf(this.#fields.opened(document));
  }
}

/** @param document opened */
function recordOf({ _id, ...rest }: ImageDocument): ImageRecord {
  return { id: _id, ...rest };
}

function checkId(id: string): void {
  if (typeof id !== 'string' || !isImageId(id)) throw new MayflyError('invalid_id', 'That is not an image id.');
}

function imageSchema(): Schema<ImageDocument> {
  return strictSchema<ImageDocument>({
    _id: NAME,
    project: NAME,
    name: NAME,
    state: { type: String, required: true, enum: IMAGE_STATES },
    request: SEALED,
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
    failure: SEALED,
    waitingFor: SEALED,
    begin: { type: Schema.Types.Mixed, default: undefined },
    createdBy: { type: actorPart(), required: true },
    createdAt: NAME,
    readyAt: NULLABLE_TEXT,
    updatedAt: NAME,
  });
}
