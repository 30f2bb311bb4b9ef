import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { snapshotIdFrom } from '../../model/ids.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import type { Attempt } from '../../services/idempotent-attempt.ts';
import { requireSandbox, requireSnapshot } from '../../services/require.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import type { takeSnapshot } from '../resources/snapshot-schemas.ts';
import { snapshotView } from '../resources/snapshot-schemas.ts';
import { awaitOperation, beginOperation } from '../sandboxes/operation.ts';

type Request = z.output<typeof takeSnapshot>;

/**
 * POST …/snapshots: takes it once, however often it is asked with the same key, and waits for it a while.
 * @throws MayflyError sandbox_not_found, sandbox_not_running, sandbox_ended, sandbox_busy, snapshot_unsupported, snapshot_name_taken
 */
export async function answerTake(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  request: Request,
): Promise<Response> {
  await requireSandbox(deps, sandboxId);
  const asked = {
    idFrom: snapshotIdFrom,

    body: request,
    subject: { path: '/v1/snapshots', member: 'snapshotId' as const },
    again: async (id: string) => {
      const record = await deps.store.snapshots.get(id);
      return record && answerFor(c, record);
    },
  };
  return answerOnce(c, asked, async (attempt) => {
    await begin(deps, attempt, sandboxId, request, actorOf(c));
    await awaitOperation(c, deps, { sandboxId, operationId: attempt.subjectId });
    const record = await requireSnapshot(deps, attempt.subjectId);
    return { response: answerFor(c, record), isKept: isHeard(c) };
  });
}

/** A claim with a record has been begun; its sandbox may have ended since then. */
async function begin(
  deps: RequestDeps,
  attempt: Attempt,
  sandboxId: string,
  { name, kind }: Request,
  actor: Actor,
): Promise<void> {
  const { subjectId, isFresh } = attempt;
  if (!isFresh && (await deps.store.snapshots.get(subjectId))) return;
  await beginOperation(deps, attempt, sandboxId, {
    kind: 'snapshot',
    operationId: subjectId,
    name: name ?? subjectId,
    snapshotKind: kind ?? 'disk',
    actor,
  });
}

/** Of a later repetition 200: it was taken, and is there no more. */
const STATUS = { creating: 202, ready: 201, deleting: 200, deleted: 200 } as const;

function answerFor(c: Context<Env>, record: SnapshotRecord): Response {
  const { id: snapshotId, sandboxId, state, failure } = record;
  c.header('Location', `/v1/snapshots/${snapshotId}`);
  if (state !== 'failed') return c.json(snapshotView(record), STATUS[state]);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('snapshot_failed', 'No reason was recorded.');
  return problemResponse(c, error, { sandboxId, snapshotId });
}
