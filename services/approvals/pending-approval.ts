import { setTimeout as sleep } from 'node:timers/promises';
import type { ApprovalRecord } from '../../model/approvals/approval.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';

/** Interval between two polls of an approval, ms. */
const POLL_MS = 500;

/** Ends a request that waits for an approval. It holds its key, and goes on when it is repeated after the decision. */
export class PendingApproval extends Error {
  constructor(readonly record: ApprovalRecord) {
    super(`${record.id} awaits approval`);
  }
}

/** Returns an approval once it is decided, or when the limit is over. */
export async function awaitDecision(
  deps: Pick<ServiceDeps, 'store' | 'logger'>,
  record: ApprovalRecord,
  limit: WaitLimit,
): Promise<ApprovalRecord> {
  let latest = record;
  await waitWithin(deps, limit, async (signal) => {
    while (latest.state === 'awaiting-approval') {
      await sleep(POLL_MS, undefined, { signal });
      latest = (await deps.store.approvals.get(record.id)) ?? latest;
    }
  });
  return latest;
}
