import type { Connection } from 'mongoose';
import type { ImageLayer } from '../../model/image/image.ts';
import { NAME } from '../mongo/schema.ts';
import { RecordRepository } from '../repository/repository.ts';
import type { Sealing } from '../sealed/sealing.ts';

/** Which snapshot a step came to, one document each, `_id` = key of the step: its project is part of that. */
export class ImageLayers extends RecordRepository<ImageLayer> {
  constructor(connection: Connection, sealing: Sealing) {
    const fields = { snapshotId: NAME, createdAt: NAME };
    super(connection, sealing, { collection: 'imageLayers', noun: 'a layer', fields, isId: () => true });
  }

  /** In place of one that was there: the latest is there the longest. */
  async put({ id, ...rest }: ImageLayer): Promise<void> {
    await this.write(id, rest);
  }
}
