import type { ImageProgress, ImageRequest, ImageStage } from './image.ts';
import type { ImageInput } from './image-saga.ts';

/** The record of one build: inserted by the API, from then on written by its workflow alone. */
export interface ImageRecord extends ImageProgress {
  request: ImageRequest;
  /** What the source holds; where nobody knows yet, the id of the build, so that nothing of it is found again. */
  content: string;
  /** What all sources hold, when there are several stages. `@default` there is one, which holds `content` */
  contents?: { source: string; content: string }[];
  /** Those stages of which something is done, or copied. `@default` one, in `builderId` */
  stages?: ImageStage[];
  /** The sandbox in which {@link ImageRequest.ready} is asked. `@default` there is none */
  checkerId?: string;
  steps: number;
  /** What its workflow is begun with, by the API or, where that died before it could, by the reconciler. */
  begin?: ImageInput;
}

/** All that a build has for itself, but for what its bake has. */
export function sandboxesOf({ builderId, stages = [], checkerId }: ImageRecord): string[] {
  return [...new Set([builderId, ...stages.map((stage) => stage.builderId), ...(checkerId ? [checkerId] : [])])];
}
