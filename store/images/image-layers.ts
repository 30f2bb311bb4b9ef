import { type ImageLayer, imageLayer } from '../../model/image/image.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

/** Snapshots made by build steps, `_id` = key of the step, which includes its project. */
export class ImageLayers extends recordRepositoryOf({
  collection: 'imageLayers',
  noun: 'a layer',
  isId: () => true,
  model: imageLayer,
}) {
  /** Replaces the layer of a step: the latest snapshot is kept the longest. */
  async put({ id, ...rest }: ImageLayer): Promise<void> {
    await this.write(id, rest);
  }
}
