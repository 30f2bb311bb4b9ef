import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { snapshotIdFrom } from '../../model/ids.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { requireSandbox } from '../../services/require.ts';
import { takeSnapshot } from '../../services/snapshots/take-snapshot.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { problemResponse } from '../http/problem.ts';
import { preferredWait } from '../http/waiting.ts';
import { answerOnce, type Operation } from '../idempotency/answer-once.ts';
import { snapshotView, type takeSnapshot as takeSchema } from '../resources/snapshot-schemas.ts';

/** Takes a snapshot, once for each Idempotency-Key. @throws MayflyError sandbox_not_found, and what {@link takeSnapshot} throws */
export async function answerTake(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  request: z.output<typeof takeSchema>,
): Promise<Response> {
  await requireSandbox(deps, sandboxId);
  const operation: Operation = {
    idFrom: snapshotIdFrom,
    subject: { path: '/v1/snapshots', member: 'snapshotId' },
    again: async (id) => {
      const record = await deps.store.snapshots.get(id);
      return record && answerRecord(c, record);
    },
  };
  return answerOnce(c, operation, async (call) => {
    const record = await takeSnapshot(deps, call, sandboxId, request, preferredWait(c));
    return answerRecord(c, record);
  });
}

/** Statuses by state; 200: it was taken by an earlier request, and is there no more. */
const STATUS = { creating: 202, ready: 201, deleting: 200, deleted: 200 } as const;

function answerRecord(c: Context<Env>, record: SnapshotRecord): Response {
  const { id: snapshotId, sandboxId, state, failure } = record;
  c.header('Location', `/v1/snapshots/${snapshotId}`);
  if (state !== 'failed') return c.json(snapshotView(record), STATUS[state]);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('snapshot_failed', 'No reason was recorded.');
  return problemResponse(c, error, { sandboxId, snapshotId });
}
