import { type ImageLayer, imageLayer } from '../../model/image/image.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

/** Which snapshot a step came to, one document each, `_id` = key of the step: its project is part of that. */
export class ImageLayers extends recordRepositoryOf({
  collection: 'imageLayers',
  noun: 'a layer',
  isId: () => true,
  model: imageLayer,
}) {
  /** In place of one that was there: the latest is there the longest. */
  async put({ id, ...rest }: ImageLayer): Promise<void> {
    await this.write(id, rest);
  }
}
