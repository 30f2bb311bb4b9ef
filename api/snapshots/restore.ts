import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { operationIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import { furtherId } from '../../services/idempotent-attempt.ts';
import { requireSandbox, requireSnapshot } from '../../services/require.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import { WAKE } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';
import { sandboxView } from '../resources/sandbox-view.ts';
import { restoreAnswer, restoreSandbox } from '../resources/snapshot-schemas.ts';
import { awaitOperation, beginOperation, failureOf } from '../sandboxes/operation.ts';

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
    handle: ({ c, deps, params: { id }, body }) => answerRestore(c, deps, id, body),
  }),
];

/**
 * Restores once, however often it is asked with the same key, and waits for it a while.
 * @throws MayflyError sandbox_not_found, snapshot_not_found, snapshot_not_ready, sandbox_not_running, sandbox_ended, sandbox_busy
 */
async function answerRestore(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  request: Request,
): Promise<Response> {
  const { snapshotId, keepCurrent = true } = request;
  await requireSandbox(deps, sandboxId);
  await refuseForeign(deps, sandboxId, snapshotId);
  const keptBy = (operationId: string) => (keepCurrent ? furtherId(snapshotIdFrom, operationId, 'kept') : null);
  const again = async (operationId: string) => {
    const sandbox = sandboxView(await requireSandbox(deps, sandboxId));
    c.header('Location', `/v1/sandboxes/${sandboxId}`);
    const answer = { operationId, snapshotId, keptAs: keptBy(operationId), sandbox };
    return c.json(answer, sandbox.state === 'restoring' ? 202 : 200);
  };
  const asked = { idFrom: operationIdFrom, body: request, again };
  return answerOnce(c, asked, async (attempt) => {
    const operationId = attempt.subjectId;
    const keepAs = keptBy(operationId);
    const actor = actorOf(c);
    await beginOperation(deps, attempt, sandboxId, { kind: 'restore', operationId, snapshotId, keepAs, actor });
    const outcome = await awaitOperation(c, deps, { sandboxId, operationId });
    const sandbox = await requireSandbox(deps, sandboxId);
    c.header('Location', `/v1/sandboxes/${sandboxId}`);
    const error = outcome.isOver ? failureOf(outcome, sandbox) : null;
    const answer = { operationId, snapshotId, keptAs: keepAs, sandbox: sandboxView(sandbox) };
    const response = error
      ? problemResponse(c, error, { sandboxId, snapshotId })
      : c.json(answer, outcome.isOver ? 200 : 202);
    return { response, isKept: isHeard(c) };
  });
}

/** Another sandbox's disks belong to another identity: that is a fork. @throws MayflyError snapshot_not_found, invalid_request */
async function refuseForeign(deps: RequestDeps, sandboxId: string, snapshotId: string): Promise<void> {
  const snapshot = await requireSnapshot(deps, snapshotId);
  if (snapshot.sandboxId === sandboxId) return;
  const problem = `is of ${snapshot.sandboxId}; fork it with POST /v1/sandboxes {"snapshotId": …}`;
  throw new MayflyError('invalid_request', `The snapshot ${snapshotId} ${problem}.`, {
    fields: [{ field: 'snapshotId', problem }],
  });
}
