import { MayflyError } from '../../model/errors.ts';
import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import { requireSandbox, requireSnapshot } from '../../services/require.ts';
import { OPERATION } from '../http/problem-answers.ts';
import { type Responder, type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, pageOf, pageQuery, preferHeaders } from '../http/schemas.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { type SnapshotView, snapshotAnswer, snapshotParams, takeSnapshot } from '../resources/snapshot-schemas.ts';
import { answerTake } from './take-snapshot.ts';

const route = routeOf('snapshots');

const OF_SANDBOX = '/v1/sandboxes/{id}/snapshots';
const ONE = '/v1/snapshots/{id}';

export const snapshotRoutes: Route[] = [
  route('createSnapshot', 'post', OF_SANDBOX, {
    scope: 'sandboxes:write',
    summary: 'Take a snapshot of a sandbox, which goes on meanwhile',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: takeSnapshot },
    out: {
      200: json('It was taken by an earlier request with this Idempotency-Key, and is there no more', snapshotAnswer),
      201: json('It was saved and checked', snapshotAnswer),
      202: json('It is being taken; Location says where to look', snapshotAnswer),
    },
    problems: [
      OPERATION,
      'snapshot_name_taken',
      'snapshot_unsupported',
      'snapshot_failed',
      'flatten_failed',
      'quota_exceeded',
    ],
    location: ({ id }) => `/v1/snapshots/${id}`,
    handle: (call) => answerTake(call, call.params.id, call.body),
  }),
  route('listSnapshots', 'get', '/v1/snapshots', {
    scope: 'sandboxes:read',
    summary: 'List the snapshots of all sandboxes of a project, newest first; an operator sees all projects',
    in: { query: pageQuery },
    out: { 200: json('One page', pageOf(snapshotAnswer)) },
    handle: ({ store, query }) => store.snapshots.list(query),
  }),
  route('listSandboxSnapshots', 'get', OF_SANDBOX, {
    scope: 'sandboxes:read',
    summary: 'List the snapshots of a sandbox, newest first; also when it has ended',
    in: { params: sandboxParams, query: pageQuery },
    out: { 200: json('One page', pageOf(snapshotAnswer)) },
    problems: ['sandbox_not_found'],
    handle: async ({ deps, store, params, query }) => {
      const { id: sandboxId } = await requireSandbox(deps, params.id);
      return store.snapshots.list({ ...query, sandboxId });
    },
  }),
  route('getSnapshot', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one snapshot',
    in: { params: snapshotParams },
    out: { 200: json('The snapshot', snapshotAnswer) },
    problems: ['snapshot_not_found'],
    handle: ({ deps, params }) => requireSnapshot(deps, params.id),
  }),
  route('deleteSnapshot', 'delete', ONE, {
    scope: 'sandboxes:write',
    summary: 'Delete a snapshot; what others refer to is freed with the last of them',
    in: { params: snapshotParams, headers: preferHeaders },
    out: {
      200: json('It cannot be used any more; `keptFor` says what its content is still needed for', snapshotAnswer),
      202: json('It is being deleted; Location says where to look', snapshotAnswer),
    },
    problems: ['snapshot_not_found', 'sandbox_busy', 'temporal_unavailable'],
    location: ({ id }) => `/v1/snapshots/${id}`,
    handle: (call) => answerDelete(call, call.params.id),
  }),
];

/** @throws MayflyError snapshot_not_found, sandbox_busy */
function answerDelete(responder: Responder<SnapshotView>, id: string): Promise<Response> {
  const { deps } = responder;
  const { sagas } = deps;
  return answerDeletion(responder, {
    read: () => requireSnapshot(deps, id),
    view: (snapshot) => snapshot,
    isGone: ({ state }) => isGone(state),
    begin: async ({ state, hostId, installationId }, actor) => {
      if (state === 'creating') {
        throw new MayflyError(
          'sandbox_busy',
          `The snapshot ${id} is being taken; it can be deleted when that has ended.`,
        );
      }
      await sagas.snapshots.delete({ snapshotId: id, hostId, installationId, actor });
    },
    ended: (_record, signal) => sagas.snapshots.deleted(id, signal),
  });
}

/** What failed has left nothing. */
function isGone(state: SnapshotState): boolean {
  return state === 'deleted' || state === 'failed';
}
