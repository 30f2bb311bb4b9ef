import { heartbeat } from '@temporalio/activity';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { pollUntil } from '../step/until.ts';

/** Longest wait of a round for the sandboxes it ends, ms: the next round checks the rest. */
export const END_TIMEOUT_MS = 20_000;

/** Ends the sandboxes that have not ended. @param waitUntil ms since 1970 @returns true when all have ended */
export async function endSandboxes(
  { store, reconciliation }: SagaDeps,
  ids: readonly string[],
  waitUntil: number,
): Promise<boolean> {
  const findOpen = async () => {
    const records = await Promise.all(ids.map((id) => store.sandboxes.get(id)));
    return records.flatMap((record) => (record && !isFinal(record.state) ? [record.id] : []));
  };
  for (const id of await findOpen()) {
    heartbeat();
    await reconciliation.sandboxes.end(id);
  }
  return pollUntil(async () => {
    const open = await findOpen();
    if (open.length === 0) return true;
    return Date.now() < waitUntil ? null : false;
  });
}
