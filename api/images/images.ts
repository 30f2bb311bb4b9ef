import { setImmediate as turn } from 'node:timers/promises';
import { createRoute, type z } from '@hono/zod-openapi';
import { isImageOver } from '../../model/image/image.ts';
import { LIMITS } from '../../model/limits.ts';
import { auditPage, pageOfChain } from '../audit/audit-page.ts';
import { actorOf, requires } from '../http/auth.ts';
import { type App, serialised } from '../http/context.ts';
import { BODY, CREATE, KEYED, problems } from '../http/problem-answers.ts';
import { auditQuery, json, keyHeaders, noQuery, pageOf } from '../http/schemas.ts';
import { answerBuild } from './build-image.ts';
import { buildImage, imageAnswer, imageParams, imagesQuery } from './image-schemas.ts';
import { imageView, requireImage } from './image-view.ts';

const ALL = '/v1/images';
const ONE = '/v1/images/{id}';
const tags = ['images'];

const buildOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'buildImage',
  summary: 'Build a source of a Dockerfile',
  description:
    'What is not done is refused with its line before anything runs. Each step is a command in a sandbox, and a snapshot; a step that was done before, of the same, is not done again. docs/images.md says what a Dockerfile may have.',
  middleware: [requires('admin')],
  request: {
    query: noQuery,
    headers: keyHeaders,
    body: { required: true, content: { 'application/json': { schema: buildImage } } },
  },
  responses: {
    200: json('It was begun by an earlier request with this Idempotency-Key, and is over', imageAnswer),
    202: json('It is being built, or is there of the very same; Location says where to look', imageAnswer),
    ...problems(BODY, KEYED, CREATE, 'dockerfile_unsupported', 'source_exists', 'image_not_found', 'context_not_found'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listImages',
  summary: 'List the builds of the project, newest first',
  middleware: [requires('sandboxes:read')],
  request: { query: imagesQuery },
  responses: { 200: json('One page', pageOf(imageAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getImage',
  summary: 'Read one build',
  middleware: [requires('sandboxes:read')],
  request: { params: imageParams, query: noQuery },
  responses: { 200: json('The build', imageAnswer), ...problems('image_not_found') },
});

const auditOfOne = createRoute({
  method: 'get',
  path: `${ONE}/audit`,
  tags: ['audit'],
  operationId: 'getImageAudit',
  summary: 'Who has begun a build, who wanted its end, and what became of it',
  description: 'What its steps did is in the audit of its sandboxes.',
  middleware: [requires('sandboxes:read')],
  request: { params: imageParams, query: auditQuery },
  responses: { 200: json('One page, oldest first', auditPage), ...problems('image_not_found') },
});

const cancelOne = createRoute({
  method: 'post',
  path: `${ONE}/cancel`,
  tags,
  operationId: 'cancelImage',
  summary: 'Have a build end: its step is ended, its sandbox destroyed, and no source made',
  middleware: [requires('admin')],
  request: { params: imageParams, query: noQuery },
  responses: {
    200: json('It was over before', imageAnswer),
    202: json('It is being undone', imageAnswer),
    ...problems('image_not_found', 'temporal_unavailable'),
  },
});

export function imageRoutes(app: App): void {
  app.openapi(buildOne, async (c) => {
    const { 'idempotency-key': key } = c.req.valid('header');
    return serialised(await answerBuild(c, c.get('deps'), c.req.valid('json'), key));
  });
  app.openapi(listAll, async (c) => {
    const { limit = LIMITS.page.default, cursor } = c.req.valid('query');
    const page = await c.get('deps').store.images.list({ limit, cursor });
    const items: z.infer<typeof imageAnswer>[] = [];
    for (const item of page.items) {
      items.push(imageView(item));
      await turn(); // each is read of its Dockerfile, which can be long
    }
    return c.json({ ...page, items }, 200);
  });
  app.openapi(getOne, async (c) => c.json(imageView(await requireImage(c.get('deps'), c.req.valid('param').id)), 200));
  app.openapi(auditOfOne, async (c) => {
    const deps = c.get('deps');
    const { id } = await requireImage(deps, c.req.valid('param').id);
    return c.json(await pageOfChain(deps, id, c.req.valid('query')), 200);
  });
  app.openapi(cancelOne, async (c) => {
    const { id } = c.req.valid('param');
    const deps = c.get('deps');
    const record = await requireImage(deps, id);
    if (isImageOver(record.state)) return c.json(imageView(record), 200);
    await deps.sagas.cancelImage(record.name, { imageId: id, actor: actorOf(c) });
    return c.json(imageView(record), 202);
  });
}
