import type { z } from '@hono/zod-openapi';
import { imageIdFrom } from '../../model/ids.ts';
import { isImageOver } from '../../model/image/image.ts';
import { buildImage } from '../../services/images/build-image.ts';
import { type Responder, reply } from '../http/route.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import type { buildImage as buildSchema } from './image-schemas.ts';
import { imageView } from './image-view.ts';

/** Builds an image, once for each Idempotency-Key. */
export function answerBuild(
  responder: Responder<ReturnType<typeof imageView>>,
  body: z.output<typeof buildSchema>,
): Promise<Response> {
  const { deps } = responder;
  const again = async (id: string) => {
    const record = await deps.store.images.get(id);
    return record && reply(isImageOver(record.state) ? 200 : 202, imageView(record));
  };
  return answerOnce(responder, { idFrom: imageIdFrom, again }, async (call) =>
    reply(202, imageView(await buildImage(deps, call, body))),
  );
}
