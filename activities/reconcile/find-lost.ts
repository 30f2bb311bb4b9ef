import { heartbeat } from '@temporalio/activity';
import type { ControlTemporalClient } from '../../temporal/reconciliation.ts';

interface Task {
  /** Time of its last change, ISO 8601. */
  since: string;
  workflowIds: string[];
}

/** Yields records without a workflow that have not changed during the grace period. */
export async function* findLost<T>(
  { reconciliation, graceMs }: { reconciliation: Pick<ControlTemporalClient, 'isOpen'>; graceMs: number },
  records: readonly T[],
  taskOf: (record: T) => Task,
): AsyncGenerator<T> {
  const before = Date.now() - graceMs;
  for (const record of records) {
    heartbeat();
    const { since, workflowIds } = taskOf(record);
    if (Date.parse(since) > before) continue;
    const open = await Promise.all(workflowIds.map((id) => reconciliation.isOpen(id)));
    if (!open.includes(true)) yield record;
  }
}
