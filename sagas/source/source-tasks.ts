import type { Client } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import {
  SOURCE_TASK_MEMO,
  SOURCE_WORKFLOW,
  type SourceInput,
  sourceWorkflowIdOf,
} from '../../model/snapshots/source-access.ts';
import { startOrJoin } from '../temporal/start-or-join.ts';

type SourceWorkflow = (input: SourceInput) => Promise<void>;

/** Returns when Temporal has it; joins the same task when that runs. @throws MayflyError too_many_requests */
export async function startSourceTask(client: Client, input: SourceInput): Promise<void> {
  const { hostId, name, task, actor } = input;
  const { other } = await startOrJoin<SourceWorkflow>(client, SOURCE_WORKFLOW, {
    workflowId: sourceWorkflowIdOf(hostId, name),
    args: [input],
    memoKey: SOURCE_TASK_MEMO,
    task,
    apiKeyId: actor.apiKeyId,
    staticSummary: `${task} ${name} on ${hostId}`,
  });
  if (!other) return;
  const why = `${JSON.stringify(name)} is being ${task === 'prepare' ? 'unprepared' : 'prepared'} at this moment.`;
  throw new MayflyError('too_many_requests', why, { cause: other.cause, retryAfterSeconds: 5 });
}

/** Resolves when no task runs on the source. */
export function sourceTaskEnded(client: Client, { hostId, name }: { hostId: string; name: string }): Promise<unknown> {
  return client.workflow.getHandle(sourceWorkflowIdOf(hostId, name)).result();
}
