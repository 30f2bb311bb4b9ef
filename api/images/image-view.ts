import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { ImageRecord } from '../../model/image/image.ts';
import { buildOf } from '../../model/image/steps.ts';
import type { RequestDeps } from '../http/context.ts';
import type { imageAnswer } from './image-schemas.ts';

/** A record as every route answers it: variables that were given are not said. */
export function imageView({ request, content: _content, ...shown }: ImageRecord): z.infer<typeof imageAnswer> {
  const { steps, settings, unusedArgs } = buildOf(request, { project: shown.project, content: '' });
  const { env, workdir, user, labels, exposed, cmd, entrypoint } = settings;
  const lists = { exposed: [...exposed], cmd: cmd && [...cmd], entrypoint: entrypoint && [...entrypoint] };
  return {
    ...shown,
    steps: steps.map(({ line, text }) => ({ line, text })),
    settings: { env: { ...env }, workdir, user, labels: { ...labels }, ...lists },
    unusedArgs,
  };
}

/** @throws MayflyError image_not_found */
export async function requireImage({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<ImageRecord> {
  const record = await store.images.get(id);
  if (record) return record;
  throw new MayflyError('image_not_found', `There is no image ${id}.`);
}
