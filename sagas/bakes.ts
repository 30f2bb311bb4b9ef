import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import {
  BAKE_MEMO,
  BAKE_SOURCE_WORKFLOW,
  type BakedSource,
  type BakeSourceInput,
  bakeWorkflowIdOf,
  DELETE_SOURCE_WORKFLOW,
  type DeleteSourceInput,
} from '../model/snapshots/baked-source.ts';

type BakeWorkflow = (input: BakeSourceInput) => Promise<BakedSource>;
type DeleteWorkflow = (input: DeleteSourceInput) => Promise<BakedSource>;

/** What stands in the memo while a source is deleted. */
const DELETING = 'delete';

/** Returns when Temporal has it; the same bake again joins it. @throws MayflyError source_exists */
export async function bakeSource(client: Client, input: BakeSourceInput): Promise<void> {
  const { hostId, name, snapshot, actor, bakeId } = input;
  try {
    await client.workflow.start<BakeWorkflow>(BAKE_SOURCE_WORKFLOW, {
      workflowId: bakeWorkflowIdOf(hostId, name),
      taskQueue: CONTROL_QUEUE,
      args: [input],
      memo: { [BAKE_MEMO]: bakeId },
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `bake ${name} of ${snapshot.id} on ${hostId}`,
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  } catch (error) {
    if ((await runningTask(client, input, error)) === bakeId) return;
    const why = `${JSON.stringify(name)} is being baked or deleted at this moment.`;
    throw new MayflyError('source_exists', why, { cause: error });
  }
}

/** Returns when Temporal has it; joins the deletion that runs already. @throws MayflyError too_many_requests */
export async function deleteSource(client: Client, input: DeleteSourceInput): Promise<void> {
  const { hostId, name, actor } = input;
  try {
    await client.workflow.start<DeleteWorkflow>(DELETE_SOURCE_WORKFLOW, {
      workflowId: bakeWorkflowIdOf(hostId, name),
      taskQueue: CONTROL_QUEUE,
      args: [input],
      memo: { [BAKE_MEMO]: DELETING },
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `delete the source ${name} on ${hostId}`,
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  } catch (error) {
    if ((await runningTask(client, input, error)) === DELETING) return;
    const why = `${JSON.stringify(name)} is being baked; it can be deleted when that has ended.`;
    throw new MayflyError('too_many_requests', why, { cause: error, retryAfterSeconds: 5 });
  }
}

/** Resolves when it has ended, whether or not it failed. */
export function bakeEnded(client: Client, { hostId, name }: { hostId: string; name: string }): Promise<unknown> {
  return client.workflow.getHandle(bakeWorkflowIdOf(hostId, name)).result();
}

/** What the workflow does that was in the way of a start. @throws the error when it was something else */
async function runningTask(
  client: Client,
  { hostId, name }: { hostId: string; name: string },
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  const { memo } = await client.workflow.getHandle(bakeWorkflowIdOf(hostId, name)).describe();
  return memo?.[BAKE_MEMO];
}
