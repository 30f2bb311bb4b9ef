import { createRoute, z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { requires } from '../http/auth.ts';
import { type App, serialised } from '../http/context.ts';
import { ASKED_FOR, problems, SOURCE, SOURCE_TASK } from '../http/problem-answers.ts';
import { idempotencyHeaders, json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { captureAnswer, captureParams, captureQuery } from '../resources/capture-schemas.ts';
import { captureView, requireCapture } from '../resources/capture-view.ts';
import { sourceParams, takeCapture } from './source-schemas.ts';
import { answerCapture, deleteCapture } from './take-capture.ts';

const OF_SOURCE = '/v1/sources/{name}/captures';
const ONE = '/v1/captures/{id}';
const tags = ['captures'];

const takeOne = createRoute({
  method: 'post',
  path: OF_SOURCE,
  tags,
  operationId: 'createCapture',
  summary: 'Copy a running source as it is at one moment, while it goes on',
  description:
    'Its file systems are frozen for about a second where its guest agent can do that. When any of it fails, what was ' +
    'copied is removed. Sandboxes of a running source are made from its newest capture.',
  middleware: [requires('operator')],
  request: {
    params: sourceParams,
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: false, content: { 'application/json': { schema: takeCapture } } },
  },
  responses: {
    200: json('It was taken by an earlier request with this Idempotency-Key, and is there no more', captureAnswer),
    201: json('It was copied and checked', captureAnswer),
    202: json(
      'It is being copied, or waits for approval; Location says where to look',
      z.union([captureAnswer, approvalAnswer]),
    ),
    ...problems(SOURCE_TASK, ASKED_FOR, 'capture_failed', 'capacity_exhausted', 'host_disk_full', 'quota_exceeded'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: OF_SOURCE,
  tags,
  operationId: 'listCaptures',
  summary: 'List the captures of a source on all hosts, newest first; also when the source is gone',
  middleware: [requires('sandboxes:read')],
  request: { params: sourceParams, query: captureQuery },
  responses: { 200: json('One page', pageOf(captureAnswer)), ...problems(SOURCE) },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getCapture',
  summary: 'Read one capture',
  middleware: [requires('sandboxes:read')],
  request: { params: captureParams, query: noQuery },
  responses: { 200: json('The capture', captureAnswer), ...problems('capture_not_found') },
});

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  operationId: 'deleteCapture',
  summary: 'Delete a capture that nothing refers to',
  middleware: [requires('operator')],
  request: { params: captureParams, query: noQuery, headers: preferHeaders },
  responses: {
    200: json('Nothing of it is left', captureAnswer),
    202: json('It is being deleted; Location says where to look', captureAnswer),
    ...problems('capture_not_found', 'capture_in_use', 'source_busy', 'temporal_unavailable', 'cleanup_incomplete'),
  },
});

export function captureRoutes(app: App): void {
  app.openapi(takeOne, async (c) => {
    const { name } = c.req.valid('param');
    return serialised(await answerCapture(c, c.get('deps'), name, c.req.valid('json'), c.req.valid('header')));
  });
  app.openapi(listAll, async (c) => {
    const { limit = LIMITS.page.default, cursor } = c.req.valid('query');
    const { name: source } = c.req.valid('param');
    const page = await c.get('deps').store.captures.list({ source, limit, ...(cursor !== undefined && { cursor }) });
    return c.json({ ...page, items: page.items.map(captureView) }, 200);
  });
  app.openapi(getOne, async (c) =>
    c.json(captureView(await requireCapture(c.get('deps'), c.req.valid('param').id)), 200),
  );
  app.openapi(deleteOne, async (c) => {
    return serialised(await deleteCapture(c, c.get('deps'), c.req.valid('param').id, c.req.valid('header').prefer));
  });
}
