import { setImmediate as turn } from 'node:timers/promises';
import type { z } from '@hono/zod-openapi';
import { isImageOver } from '../../model/image/image.ts';
import { LIMITS } from '../../model/limits.ts';
import { requireImage } from '../../services/require.ts';
import { auditPage, pageOfChain } from '../audit/audit-page.ts';
import { actorOf } from '../http/auth.ts';
import { CREATE } from '../http/problem-answers.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { auditQuery, json, keyHeaders, pageOf, pageQuery } from '../http/schemas.ts';
import { answerBuild } from './build-image.ts';
import { buildImage, imageAnswer, imageParams } from './image-schemas.ts';
import { imageView } from './image-view.ts';

const route = routeOf('images');

const ALL = '/v1/images';
const ONE = '/v1/images/{id}';

export const imageRoutes: Route[] = [
  route('createImage', 'post', ALL, {
    scope: 'admin',
    summary: 'Build a source of a Dockerfile',
    description:
      'What is not done is refused with its line before anything runs. Each step is a command in a sandbox, and a snapshot; a step that was done before, of the same, is not done again. docs/images.md says what a Dockerfile may have.',
    limit: LIMITS.image.bodyBytes,
    in: { headers: keyHeaders, body: buildImage },
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
        await turn(); // each is read of its Dockerfile, which can be long
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
      if (isImageOver(record.state)) return imageView(record);
      await deps.sagas.images.cancel(record.name, { imageId: id, actor: actorOf(c) });
      return reply(202, imageView(record));
    },
  }),
];
