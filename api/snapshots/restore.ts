import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { operationIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import { deriveId } from '../../services/idempotent-call.ts';
import { operate } from '../../services/sandboxes/operation.ts';
import { requireSandbox, requireSnapshot } from '../../services/service-deps.ts';
import { actorOf, preferredWait, type RequestDeps } from '../http/context.ts';
import { fail, type Responder, type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, WAKE } from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { sandboxParams, sandboxView } from '../resources/sandbox-schemas.ts';
import { restoreAnswer, restoreSandbox } from './snapshots.ts';

const route = routeOf('snapshots');

type Request = z.output<typeof restoreSandbox>;

export const restoreRoutes: Route[] = [
  route('restoreSandbox', 'post', '/v1/sandboxes/{id}/restore', {
    scope: 'sandboxes:write',
    summary: 'Take a sandbox back to one of its snapshots',
    description:
      'The sandbox keeps its id, address, host key and certificates; its machine starts anew from the snapshot. ' +
      'Commands that run end with the outcome `interrupted`.',
    in: { params: sandboxParams, headers: idempotencyHeaders, body: restoreSandbox },
    out: {
      200: json('It runs from the snapshot, and SSH was verified', restoreAnswer),
      202: json('It is being restored; Location says where to look', restoreAnswer),
    },
    problems: [
      WAKE,
      'snapshot_not_found',
      'snapshot_not_ready',
      'snapshot_failed',
      'source_changed',
      'restore_failed',
      'snapshot_unsupported',
      'clone_failed',
    ],
    location: ({ sandbox }) => `/v1/sandboxes/${sandbox.id}`,
    handle: (call) => answerRestore(call, call.params.id, call.body),
  }),
];

/**
 * Restores a snapshot, once for each Idempotency-Key, and waits as preferred.
 * @throws MayflyError sandbox_not_found, snapshot_not_found, snapshot_not_ready, sandbox_not_running, sandbox_ended,
 *   sandbox_busy
 */
async function answerRestore(
  responder: Responder<z.infer<typeof restoreAnswer>>,
  sandboxId: string,
  { snapshotId, keepCurrent = true }: Request,
): Promise<Response> {
  const { c, deps } = responder;
  await requireSandbox(deps, sandboxId);
  await assertOwnSnapshot(deps, sandboxId, snapshotId);
  const keptBy = (operationId: string) => (keepCurrent ? deriveId(snapshotIdFrom, operationId, 'kept') : null);
  const again = async (operationId: string) => {
    const sandbox = sandboxView(await requireSandbox(deps, sandboxId));
    const answer = { operationId, snapshotId, keptAs: keptBy(operationId), sandbox };
    return reply(sandbox.state === 'restoring' ? 202 : 200, answer);
  };
  return answerOnce(responder, { idFrom: operationIdFrom, again }, async ({ subjectId: operationId }) => {
    const keepAs = keptBy(operationId);
    const operation = { kind: 'restore', operationId, snapshotId, keepAs, actor: actorOf(c) } as const;
    const { sandbox, isOver, error } = await operate(deps, sandboxId, operation, preferredWait(c));
    const answer = { operationId, snapshotId, keptAs: keepAs, sandbox: sandboxView(sandbox) };
    return error ? fail(error, { sandboxId, snapshotId }, answer) : reply(isOver ? 200 : 202, answer);
  });
}

/**
 * Refuses another sandbox's snapshot: its disks have another identity, so it can only be forked.
 * @throws MayflyError snapshot_not_found, invalid_request
 */
async function assertOwnSnapshot(deps: RequestDeps, sandboxId: string, snapshotId: string): Promise<void> {
  const snapshot = await requireSnapshot(deps, snapshotId);
  if (snapshot.sandboxId === sandboxId) return;
  const problem = `is of ${snapshot.sandboxId}; fork it with POST /v1/sandboxes {"snapshotId": …}`;
  throw new MayflyError('invalid_request', `The snapshot ${snapshotId} ${problem}.`, {
    fields: [{ field: 'snapshotId', problem }],
  });
}
