import type { Connection, Model } from 'mongoose';
import type { ImageLayer } from '../../model/image/image.ts';
import { reaching } from '../mongo/failure.ts';
import { NAME, strictSchema } from '../mongo/schema.ts';

type LayerDocument = Omit<ImageLayer, 'id'> & { _id: string };

/** Which snapshot a step came to, one document each, `_id` = key of the step: its project is part of that. */
export class ImageLayers {
  readonly #model: Model<LayerDocument>;

  constructor(connection: Connection) {
    const schema = strictSchema<LayerDocument>({ _id: NAME, snapshotId: NAME, createdAt: NAME });
    this.#model = connection.model<LayerDocument>('ImageLayer', schema, 'imageLayers');
  }

  async get(key: string): Promise<ImageLayer | null> {
    const found = await reaching('read a layer of an image', () =>
      this.#model.findById(String(key)).lean<LayerDocument>(),
    );
    return found && { id: found._id, snapshotId: found.snapshotId, createdAt: found.createdAt };
  }

  /** In place of one that was there: the latest is there the longest. */
  async put({ id, ...rest }: ImageLayer): Promise<void> {
    await reaching('record a layer of an image', () =>
      this.#model.updateOne({ _id: id }, { $set: rest }, { upsert: true, runValidators: true }),
    );
  }
}
