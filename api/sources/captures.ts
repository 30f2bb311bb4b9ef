import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { requireCapture } from '../../services/require.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { ASKED_FOR, SOURCE, SOURCE_TASK } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, pageOf, preferHeaders } from '../http/schemas.ts';
import { captureAnswer, captureParams, captureQuery } from '../resources/capture-schemas.ts';
import { sourceParams, takeCapture } from './source-schemas.ts';
import { answerCapture, deleteCapture } from './take-capture.ts';

const route = routeOf('captures');

const OF_SOURCE = '/v1/sources/{name}/captures';
const ONE = '/v1/captures/{id}';

export const captureRoutes: Route[] = [
  route('createCapture', 'post', OF_SOURCE, {
    scope: 'operator',
    summary: 'Copy a running source as it is at one moment, while it goes on',
    description:
      'Its file systems are frozen for about a second where its guest agent can do that. When any of it fails, what was ' +
      'copied is removed. Sandboxes of a running source are made from its newest capture.',
    in: { params: sourceParams, headers: idempotencyHeaders, body: takeCapture },
    out: {
      200: json('It was taken by an earlier request with this Idempotency-Key, and is there no more', captureAnswer),
      201: json('It was copied and checked', captureAnswer),
      202: json(
        'It is being copied, or waits for approval; Location says where to look',
        z.union([captureAnswer, approvalAnswer]),
      ),
    },
    problems: [SOURCE_TASK, ASKED_FOR, 'capture_failed', 'capacity_exhausted', 'host_disk_full', 'quota_exceeded'],
    handle: ({ c, deps, params: { name }, body }) => answerCapture(c, deps, name, body),
  }),
  route('listCaptures', 'get', OF_SOURCE, {
    scope: 'sandboxes:read',
    summary: 'List the captures of a source on all hosts, newest first; also when the source is gone',
    in: { params: sourceParams, query: captureQuery },
    out: { 200: json('One page', pageOf(captureAnswer)) },
    problems: [SOURCE],
    handle: async ({ store, params: { name: source }, query }) => {
      const { limit = LIMITS.page.default, cursor } = query;
      return store.captures.list({ source, limit, ...(cursor !== undefined && { cursor }) });
    },
  }),
  route('getCapture', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one capture',
    in: { params: captureParams },
    out: { 200: json('The capture', captureAnswer) },
    problems: ['capture_not_found'],
    handle: async ({ deps, params }) => await requireCapture(deps, params.id),
  }),
  route('deleteCapture', 'delete', ONE, {
    scope: 'operator',
    summary: 'Delete a capture that nothing refers to',
    in: { params: captureParams, headers: preferHeaders },
    out: {
      200: json('Nothing of it is left', captureAnswer),
      202: json('It is being deleted; Location says where to look', captureAnswer),
    },
    problems: ['capture_not_found', 'capture_in_use', 'source_busy', 'temporal_unavailable', 'cleanup_incomplete'],
    handle: ({ c, deps, params }) => deleteCapture(c, deps, params.id),
  }),
];
