import { setImmediate as turn } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import { imageIdFrom } from '../../model/ids.ts';
import { type ImageRecord, type ImageRequest, isImageFinal } from '../../model/image/image.ts';
import { deriveStepCommandId } from '../../model/image/image-saga.ts';
import { formatReadyCheck } from '../../model/image/ready.ts';
import { type BuildOutline, outlineBuild } from '../../model/image/steps.ts';
import { LIMITS } from '../../model/limits.ts';
import { buildImage } from '../../services/images/build-image.ts';
import { describeContext, receiveContext } from '../../services/images/receive-context.ts';
import { requireImage } from '../../services/service-deps.ts';
import { auditPage, pageOfChain } from '../audit/audit.ts';
import { actorOf } from '../http/context.ts';
import { type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { auditQuery, CREATE, json, keyHeaders, pageOf, pageQuery } from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { strip } from '../schema/strip.ts';
import { buildImage as buildSchema, contextAnswer, contextParams, imageAnswer, imageParams } from './image-schemas.ts';

const route = routeOf('images');

const ALL = '/v1/images';
const ONE = '/v1/images/{id}';

export const imageRoutes: Route[] = [
  route('createImage', 'post', ALL, {
    scope: 'admin',
    summary: 'Build a source of a Dockerfile',
    description:
      'What is not done is refused with its line before anything runs. Each step is a command in a sandbox, and a snapshot; a step that was done before, of the same, is not done again. docs/images-templates-pools.md says what a Dockerfile may have.',
    limit: LIMITS.image.bodyBytes,
    in: { headers: keyHeaders, body: buildSchema },
    out: {
      200: json('It was begun by an earlier request with this Idempotency-Key, and is over', imageAnswer),
      202: json('It is being built, or is there of the very same; Location says where to look', imageAnswer),
    },
    problems: [CREATE, 'dockerfile_unsupported', 'source_exists', 'image_not_found', 'context_not_found'],
    location: ({ id }) => `${ALL}/${id}`,
    handle: (call) => answerBuild(call, call.body),
  }),
  route('listImages', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the builds of the project, newest first',
    in: { query: pageQuery },
    out: { 200: json('One page', pageOf(imageAnswer)) },
    handle: async ({ store, query }) => {
      const page = await store.images.list(query);
      const items: z.infer<typeof imageAnswer>[] = [];
      for (const item of page.items) {
        items.push(imageView(item));
        await turn(); // each view parses a Dockerfile, which can be long
      }
      return { ...page, items };
    },
  }),
  route('getImage', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one build',
    in: { params: imageParams },
    out: { 200: json('The build', imageAnswer) },
    problems: ['image_not_found'],
    handle: async ({ deps, params }) => imageView(await requireImage(deps, params.id)),
  }),
  route('getImageAudit', 'get', `${ONE}/audit`, {
    tag: 'audit',
    scope: 'sandboxes:read',
    summary: 'Who has begun a build, who wanted its end, and what became of it',
    description: 'What its steps did is in the audit of its sandboxes.',
    in: { params: imageParams, query: auditQuery },
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['image_not_found'],
    handle: async ({ deps, params, query }) => {
      const { id } = await requireImage(deps, params.id);
      return pageOfChain(deps, id, query);
    },
  }),
  route('cancelImage', 'post', `${ONE}/cancel`, {
    scope: 'admin',
    summary: 'Have a build end: its step is ended, its sandbox destroyed, and no source made',
    in: { params: imageParams },
    out: { 200: json('It was over before', imageAnswer), 202: json('It is being undone', imageAnswer) },
    problems: ['image_not_found', 'temporal_unavailable'],
    handle: async ({ c, deps, params: { id } }) => {
      const record = await requireImage(deps, id);
      if (isImageFinal(record.state)) return imageView(record);
      await deps.sagas.images.cancel(record.name, { imageId: id, actor: actorOf(c) });
      return reply(202, imageView(record));
    },
  }),
];

/** Builds an image, once for each Idempotency-Key. */
function answerBuild(
  responder: Responder<ReturnType<typeof imageView>>,
  body: z.output<typeof buildSchema>,
): Promise<Response> {
  const { deps } = responder;
  const again = async (id: string) => {
    const record = await deps.store.images.get(id);
    return record && reply(isImageFinal(record.state) ? 200 : 202, imageView(record));
  };
  return answerOnce(responder, { idFrom: imageIdFrom, again }, async (call) =>
    reply(202, imageView(await buildImage(deps, call, body))),
  );
}

/** Returns the API's view of an image, without the values of variables. */
function imageView(record: ImageRecord): z.infer<typeof imageAnswer> {
  const { request, stages, checkerId } = record;
  const build = outlineBuild(request);
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

/** Returns the steps, each with its command unless cached. */
function stepsOf(
  { steps, stages: all }: BuildOutline,
  { id, builderId, cached }: Pick<ImageRecord, 'id' | 'builderId' | 'cached'>,
  stages: ImageRecord['stages'],
) {
  return steps.map(({ line, text }, index) => {
    const place = all.findIndex(({ first, end }) => first <= index && index < end);
    const done = stages ? stages.find((stage) => stage.place === place) : { builderId, first: cached };
    const isCached = done === undefined || index < done.first;
    const command = isCached ? null : { sandboxId: done.builderId, id: deriveStepCommandId({ imageId: id, index }) };
    return { line, text, command };
  });
}

function readyOf(
  request: ImageRequest,
  { id, steps }: Pick<ImageRecord, 'id' | 'steps'>,
  sandboxId: string | undefined,
) {
  if (sandboxId === undefined) return null;
  const command = deriveStepCommandId({ imageId: id, index: steps - 1, part: 'ready' });
  return { text: formatReadyCheck(request), command: { sandboxId, id: command } };
}

const CONTEXT = '/v1/image-contexts/{digest}';
const { sentContextBytes } = LIMITS.image;

export const contextRoutes: Route[] = [
  route('getImageContext', 'get', CONTEXT, {
    scope: 'admin',
    summary: 'Whether a context is there, so that it need not be sent',
    in: { params: contextParams },
    out: { 200: json('It is there', contextAnswer) },
    problems: ['context_not_found'],
    handle: ({ store, params: { digest } }) => describeContext(store, digest),
  }),
  route('putImageContext', 'put', CONTEXT, {
    scope: 'admin',
    summary: 'Send what COPY takes from, as a tar archive',
    description: `For one that is too large for the request of its build, up to ${sentContextBytes} bytes. It is named by its SHA-256, and forgotten when no build has used it for ${LIMITS.image.sentContextHours} hours.`,
    limit: null,
    in: {
      params: contextParams,
      media: { required: true, content: { 'application/x-tar': { schema: z.string().openapi({ format: 'binary' }) } } },
    },
    out: { 200: json('It was there', contextAnswer), 201: json('It is there now', contextAnswer) },
    problems: ['body_too_large', 'context_differs', 'context_not_found', 'quota_exceeded'],
    handle: async ({ c, store, params: { digest } }) => {
      const body = c.req.raw.body ?? new ReadableStream();
      const announced = Number(c.req.header('Content-Length') ?? 0);
      const isNew = await receiveContext(store, digest, body, announced);
      return reply(isNew ? 201 : 200, await describeContext(store, digest));
    },
  }),
];
