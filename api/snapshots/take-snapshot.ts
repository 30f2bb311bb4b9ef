import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import { snapshotIdFrom } from '../../model/ids.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { requireSandbox } from '../../services/require.ts';
import { takeSnapshot } from '../../services/snapshots/take-snapshot.ts';
import { fail, type Outcome, type Responder, reply } from '../http/route.ts';

import { preferredWait } from '../http/waiting.ts';
import { answerOnce, type Operation } from '../idempotency/answer-once.ts';
import type { SnapshotView, takeSnapshot as takeSchema } from '../resources/snapshot-schemas.ts';

/** Takes a snapshot, once for each Idempotency-Key. @throws MayflyError sandbox_not_found, and what {@link takeSnapshot} throws */
export async function answerTake(
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

/** Statuses by state; 200: it was taken by an earlier request, and is there no more. */
const STATUS = { creating: 202, ready: 201, deleting: 200, deleted: 200 } as const;

function outcomeOf(record: SnapshotRecord): Outcome<SnapshotView> {
  const { id: snapshotId, sandboxId, state, failure } = record;
  if (state !== 'failed') return reply(STATUS[state], record);
  const error = failure
    ? new MayflyError(failure.code, `${failure.step}: ${failure.message}`)
    : new MayflyError('snapshot_failed', 'No reason was recorded.');
  return fail(error, { sandboxId, snapshotId }, record);
}
