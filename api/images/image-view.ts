import type { z } from '@hono/zod-openapi';
import type { ImageRecord, ImageRequest } from '../../model/image/image.ts';
import { stepCommandId } from '../../model/image/image-saga.ts';
import { readyText } from '../../model/image/ready.ts';
import { type BuildOutline, outlineOf } from '../../model/image/steps.ts';
import { strip } from '../schema/strip.ts';
import { imageAnswer } from './image-schemas.ts';

/** A record as every route answers it: variables that were given are not said. */
export function imageView(record: ImageRecord): z.infer<typeof imageAnswer> {
  const { request, stages, checkerId } = record;
  const build = outlineOf(request);
  const { settings, unusedArgs, ignored } = build;
  const { env, workdir, user, labels, exposed, cmd, entrypoint } = settings;
  const lists = { exposed: [...exposed], cmd: cmd && [...cmd], entrypoint: entrypoint && [...entrypoint] };
  return strip(imageAnswer, {
    ...record,
    steps: stepsOf(build, record, stages),
    ready: readyOf(request, record, checkerId),
    settings: { env: { ...env }, workdir, user, labels: { ...labels }, ...lists },
    unusedArgs,
    ignored,
  });
}

/** Each with its command, where it is one of this build's. */
function stepsOf(
  { steps, stages: all }: BuildOutline,
  { id, builderId, cached }: Pick<ImageRecord, 'id' | 'builderId' | 'cached'>,
  stages: ImageRecord['stages'],
) {
  return steps.map(({ line, text }, index) => {
    const place = all.findIndex(({ first, end }) => first <= index && index < end);
    const done = stages ? stages.find((stage) => stage.place === place) : { builderId, first: cached };
    const isCached = done === undefined || index < done.first;
    const command = isCached ? null : { sandboxId: done.builderId, id: stepCommandId({ imageId: id, index }) };
    return { line, text, command };
  });
}

function readyOf(
  request: ImageRequest,
  { id, steps }: Pick<ImageRecord, 'id' | 'steps'>,
  sandboxId: string | undefined,
) {
  if (sandboxId === undefined) return null;
  const command = stepCommandId({ imageId: id, index: steps - 1, part: 'ready' });
  return { text: readyText(request), command: { sandboxId, id: command } };
}
