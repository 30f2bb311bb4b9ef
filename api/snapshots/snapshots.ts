import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { SnapshotState } from '../../model/snapshots/snapshot.ts';
import { requires } from '../http/auth.ts';
import { type App, type Env, type RequestDeps, serialised } from '../http/context.ts';
import { BODY, KEYED, OPERATION, problems } from '../http/problem-answers.ts';
import { idempotencyHeaders, json, noQuery, pageOf, preferHeaders } from '../http/schemas.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { snapshotAnswer, snapshotParams, snapshotQuery, takeSnapshot } from '../resources/snapshot-schemas.ts';
import { requireSnapshot, snapshotView } from '../resources/snapshot-view.ts';
import { answerTake } from './take-snapshot.ts';

const OF_SANDBOX = '/v1/sandboxes/{id}/snapshots';
const ONE = '/v1/snapshots/{id}';
const tags = ['snapshots'];

const takeOne = createRoute({
  method: 'post',
  path: OF_SANDBOX,
  tags,
  operationId: 'createSnapshot',
  summary: 'Take a snapshot of a sandbox, which goes on meanwhile',
  middleware: [requires('sandboxes:write')],
  request: {
    params: sandboxParams,
    query: noQuery,
    headers: idempotencyHeaders,
    body: { required: false, content: { 'application/json': { schema: takeSnapshot } } },
  },
  responses: {
    200: json('It was taken by an earlier request with this Idempotency-Key, and is there no more', snapshotAnswer),
    201: json('It was saved and checked', snapshotAnswer),
    202: json('It is being taken; Location says where to look', snapshotAnswer),
    ...problems(
      BODY,
      KEYED,
      OPERATION,
      'snapshot_name_taken',
      'snapshot_unsupported',
      'snapshot_failed',
      'flatten_failed',
      'quota_exceeded',
    ),
  },
});

const listAll = createRoute({
  method: 'get',
  path: OF_SANDBOX,
  tags,
  operationId: 'listSnapshots',
  summary: 'List the snapshots of a sandbox, newest first; also when it has ended',
  middleware: [requires('sandboxes:read')],
  request: { params: sandboxParams, query: snapshotQuery },
  responses: { 200: json('One page', pageOf(snapshotAnswer)), ...problems('sandbox_not_found') },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getSnapshot',
  summary: 'Read one snapshot',
  middleware: [requires('sandboxes:read')],
  request: { params: snapshotParams, query: noQuery },
  responses: { 200: json('The snapshot', snapshotAnswer), ...problems('snapshot_not_found') },
});

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  operationId: 'deleteSnapshot',
  summary: 'Delete a snapshot; what others refer to is freed with the last of them',
  middleware: [requires('sandboxes:write')],
  request: { params: snapshotParams, query: noQuery, headers: preferHeaders },
  responses: {
    200: json('It cannot be used any more; `keptFor` says what its content is still needed for', snapshotAnswer),
    202: json('It is being deleted; Location says where to look', snapshotAnswer),
    ...problems('snapshot_not_found', 'sandbox_busy', 'temporal_unavailable'),
  },
});

export function snapshotRoutes(app: App): void {
  app.openapi(takeOne, async (c) => {
    const { id } = c.req.valid('param');
    return serialised(await answerTake(c, c.get('deps'), id, c.req.valid('json'), c.req.valid('header')));
  });
  app.openapi(listAll, async (c) => {
    const { id: sandboxId } = await requireSandbox(c.get('deps'), c.req.valid('param').id);
    const { limit = LIMITS.page.default, cursor } = c.req.valid('query');
    const page = await c
      .get('deps')
      .store.snapshots.list({ sandboxId, limit, ...(cursor !== undefined && { cursor }) });
    return c.json({ ...page, items: page.items.map(snapshotView) }, 200);
  });
  app.openapi(getOne, async (c) =>
    c.json(snapshotView(await requireSnapshot(c.get('deps'), c.req.valid('param').id)), 200),
  );
  app.openapi(deleteOne, async (c) => {
    return serialised(await answerDelete(c, c.get('deps'), c.req.valid('param').id, c.req.valid('header').prefer));
  });
}

/** @throws MayflyError snapshot_not_found, sandbox_busy */
function answerDelete(c: Context<Env>, deps: RequestDeps, id: string, prefer: string | undefined): Promise<Response> {
  const { sagas } = deps;
  return answerDeletion(c, deps, prefer, {
    location: `/v1/snapshots/${id}`,
    read: () => requireSnapshot(deps, id),
    view: snapshotView,
    isGone: ({ state }) => isGone(state),
    begin: async ({ state, hostId, installationId = null }, actor) => {
      if (state === 'creating') {
        throw new MayflyError(
          'sandbox_busy',
          `The snapshot ${id} is being taken; it can be deleted when that has ended.`,
        );
      }
      await sagas.deleteSnapshot({ snapshotId: id, hostId, installationId, actor });
    },
    ended: (_record, signal) => sagas.snapshotDeleted(id, signal),
  });
}

/** What failed has left nothing. */
function isGone(state: SnapshotState): boolean {
  return state === 'deleted' || state === 'failed';
}
