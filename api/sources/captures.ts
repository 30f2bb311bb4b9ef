import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { captureIdFrom } from '../../model/ids.ts';
import { captureId } from '../../model/request-fields.ts';
import { type CaptureRecord, captureRecord } from '../../model/snapshots/capture.ts';
import { checkPolicy } from '../../services/approvals/check-policy.ts';
import { requireCapture } from '../../services/service-deps.ts';
import { placeSource } from '../../services/sources/source-host.ts';
import { beginCaptureDeletion, startCapture } from '../../services/sources/take-capture.ts';
import { approvalAnswer } from '../approvals/approval-schemas.ts';
import { actorOf, waitAsPreferred } from '../http/context.ts';
import { fail, type Outcome, type Route, reply, routeOf } from '../http/route.ts';
import {
  idempotencyHeaders,
  json,
  POLICY_CODES,
  pageOf,
  pageQuery,
  preferHeaders,
  SOURCE,
  SOURCE_TASK,
} from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { sourceParams, takeCapture } from './source-schemas.ts';

const captureParams = z.strictObject({
  id: captureId,
});

const captureAnswer = captureRecord.omit({ installationId: true }).openapi('Capture');

export type CaptureView = z.infer<typeof captureAnswer>;

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
    problems: [SOURCE_TASK, POLICY_CODES, 'capture_failed', 'capacity_exhausted', 'host_disk_full', 'quota_exceeded'],
    location: ({ id }) => `/v1/captures/${id}`,
    handle: ({ c, deps, respond, params: { name: source }, body }) => {
      const again = async (id: string) => {
        const record = await deps.store.captures.get(id);
        return record && outcomeOf(record);
      };
      const subject = { path: '/v1/captures', member: 'captureId' as const };
      return answerOnce({ c, respond }, { idFrom: captureIdFrom, subject, again }, async (call) => {
        await checkPolicy(deps, call, call.apiKey.project, {
          action: 'capture.create',
          isBegun: async () => (await deps.store.captures.get(call.subjectId)) !== null,
          resolve: async () => {
            const { id: sourceId, hostId } = await placeSource(deps.store, source, body.hostId);
            const { projects = null, allowedEgress = 'none' } = body;
            return { facts: { source: 'capture' }, request: { source, sourceId, hostId, projects, allowedEgress } };
          },
        });
        const begun = await startCapture(deps, call, actorOf(c), { source, ...body });
        await waitAsPreferred(c, (signal) => deps.sagas.captures.ended(begun, signal));
        return outcomeOf((await deps.store.captures.get(begun.id)) ?? begun);
      });
    },
  }),
  route('listCaptures', 'get', OF_SOURCE, {
    scope: 'sandboxes:read',
    summary: 'List the captures of a source on all hosts, newest first; also when the source is gone',
    in: { params: sourceParams, query: pageQuery },
    out: { 200: json('One page', pageOf(captureAnswer)) },
    problems: [SOURCE],
    handle: ({ store, params: { name: source }, query }) => store.captures.list({ source, ...query }),
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
    location: ({ id }) => `/v1/captures/${id}`,
    handle: ({ c, deps, respond, params: { id } }) =>
      answerDeletion(
        { c, deps, respond },
        {
          read: () => requireCapture(deps, id),
          view: (capture) => capture,
          isGone: ({ state }) => state === 'deleted' || state === 'failed', // a failed capture leaves no residue
          begin: (record, actor) => beginCaptureDeletion(deps, record, actor),
          ended: (record, signal) => deps.sagas.captures.ended(record, signal),
          refusal: ({ state, waitingFor }) =>
            state === 'ready' ? new MayflyError('capture_in_use', waitingFor ?? `${id} is needed.`) : null,
        },
      ),
  }),
];

/** Statuses by state; 200 for a capture that an earlier request took and that is deleted. */
const STATUS = { creating: 202, ready: 201, deleting: 200, deleted: 200 } as const;

function outcomeOf(record: CaptureRecord): Outcome<CaptureView> {
  const { id, state, failure } = record;
  if (state !== 'failed') return reply(STATUS[state], record);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('capture_failed', 'No reason was recorded.');
  return fail(error, { captureId: id }, record);
}
