import type { Client } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import {
  BAKE_MEMO,
  BAKE_SOURCE_WORKFLOW,
  type BakedSource,
  type BakeSourceInput,
  bakeWorkflowIdOf,
  DELETE_SOURCE_WORKFLOW,
  type DeleteSourceInput,
} from '../../model/snapshots/baked-source.ts';
import { startOrJoin } from '../temporal/start-or-join.ts';

type BakeWorkflow = (input: BakeSourceInput) => Promise<BakedSource>;
type DeleteWorkflow = (input: DeleteSourceInput) => Promise<BakedSource>;

/** What stands in the memo while a source is deleted. */
const DELETING = 'delete';

/** Returns when Temporal has it; the same bake again joins it. @throws MayflyError source_exists */
export async function bakeSource(client: Client, input: BakeSourceInput): Promise<void> {
  const { hostId, name, snapshot, actor, bakeId } = input;
  const { other } = await startOrJoin<BakeWorkflow>(client, BAKE_SOURCE_WORKFLOW, {
    workflowId: bakeWorkflowIdOf(hostId, name),
    args: [input],
    memoKey: BAKE_MEMO,
    task: bakeId,
    apiKeyId: actor.apiKeyId,
    staticSummary: `bake ${name} of ${snapshot.id} on ${hostId}`,
  });
  if (!other) return;
  const why = `${JSON.stringify(name)} is being baked or deleted at this moment.`;
  throw new MayflyError('source_exists', why, { cause: other.cause });
}

/** Returns when Temporal has it; joins the deletion that runs already. @throws MayflyError too_many_requests */
export async function deleteSource(client: Client, input: DeleteSourceInput): Promise<void> {
  const { hostId, name, actor } = input;
  const { other } = await startOrJoin<DeleteWorkflow>(client, DELETE_SOURCE_WORKFLOW, {
    workflowId: bakeWorkflowIdOf(hostId, name),
    args: [input],
    memoKey: BAKE_MEMO,
    task: DELETING,
    apiKeyId: actor.apiKeyId,
    staticSummary: `delete the source ${name} on ${hostId}`,
  });
  if (!other) return;
  const why = `${JSON.stringify(name)} is being baked; it can be deleted when that has ended.`;
  throw new MayflyError('too_many_requests', why, { cause: other.cause, retryAfterSeconds: 5 });
}

/** Resolves when it has ended, whether or not it failed. */
export function bakeEnded(client: Client, { hostId, name }: { hostId: string; name: string }): Promise<unknown> {
  return client.workflow.getHandle(bakeWorkflowIdOf(hostId, name)).result();
}
