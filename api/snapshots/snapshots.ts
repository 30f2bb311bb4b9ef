import { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { snapshotIdFrom } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { idSchema, snapshotId } from '../../model/request-fields.ts';
import {
  type SnapshotRecord,
  type SnapshotState,
  snapshotKind,
  snapshotRecord,
} from '../../model/snapshots/snapshot.ts';
import { requireSandbox, requireSnapshot } from '../../services/service-deps.ts';
import { takeSnapshot } from '../../services/snapshots/ephemeral-snapshot.ts';
import { preferredWait } from '../http/context.ts';
import { fail, type Outcome, type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, OPERATION, pageOf, pageQuery, preferHeaders } from '../http/schemas.ts';
import { answerOnce, type Operation } from '../idempotency/answer-once.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { sandboxAnswer, sandboxParams } from '../resources/sandbox-schemas.ts';

const { maxLength } = LIMITS.snapshotName;
const name = z
  .string()
  .max(maxLength, `must have at most ${maxLength} characters`)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, 'must be of A-Z, a-z, 0-9, ., _ and -, and not begin with . or -');

const takeSchema = z
  .strictObject({
    name: name.optional(),
    kind: snapshotKind.optional(),
  })
  .openapi('TakeSnapshot', { description: '`name` is unique in the sandbox, and the id unless given.' });

export const restoreSandbox = z
  .strictObject({ snapshotId, keepCurrent: z.boolean().optional() })
  .openapi('RestoreSandbox', {
    description: 'Unless `keepCurrent` is false, the state that is left is kept as a snapshot of its own.',
  });

const snapshotParams = z.strictObject({
  id: idSchema('snapshot'),
});

const snapshotAnswer = snapshotRecord
  .omit({ installationId: true, size: true, keptOf: true })
  .extend({ network: snapshotRecord.shape.network.pick({ egress: true }) })
  .openapi('Snapshot');

export const restoreAnswer = z
  .object({ operationId: z.string(), snapshotId: z.string(), keptAs: z.string().nullable(), sandbox: sandboxAnswer })
  .openapi('Restored', {
    description: '`keptAs`: the snapshot of the state that was left; null when it was not kept.',
  });

export type SnapshotView = z.infer<typeof snapshotAnswer>;

/**
 * Takes a snapshot, once for each Idempotency-Key.
 * @throws MayflyError sandbox_not_found, and as {@link takeSnapshot}
 */
async function answerTake(
  responder: Responder<SnapshotView>,
  sandboxId: string,
  request: z.output<typeof takeSchema>,
): Promise<Response> {
  const { c, deps } = responder;
  await requireSandbox(deps, sandboxId);
  const operation: Operation<SnapshotView> = {
    idFrom: snapshotIdFrom,
    subject: { path: '/v1/snapshots', member: 'snapshotId' },
    again: async (id) => {
      const record = await deps.store.snapshots.get(id);
      return record && outcomeOf(record);
    },
  };
  return answerOnce(responder, operation, async (call) =>
    outcomeOf(await takeSnapshot(deps, call, sandboxId, request, preferredWait(c))),
  );
}

/** Statuses by state; 200 for a snapshot that an earlier request took and that is deleted. */
const STATUS = { creating: 202, ready: 201, deleting: 200, deleted: 200 } as const;

function outcomeOf(record: SnapshotRecord): Outcome<SnapshotView> {
  const { id: snapshotId, sandboxId, state, failure } = record;
  if (state !== 'failed') return reply(STATUS[state], record);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('snapshot_failed', 'No reason was recorded.');
  return fail(error, { sandboxId, snapshotId }, record);
}

const route = routeOf('snapshots');

const OF_SANDBOX = '/v1/sandboxes/{id}/snapshots';
const ONE = '/v1/snapshots/{id}';

export const snapshotRoutes: Route[] = [
  route('createSnapshot', 'post', OF_SANDBOX, {
    scope: 'sandboxes:write',
    summary: 'Take a snapshot of a sandbox, which goes on meanwhile',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: takeSchema },
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

/** True when no residue is left; a failed snapshot leaves none. */
function isGone(state: SnapshotState): boolean {
  return state === 'deleted' || state === 'failed';
}
