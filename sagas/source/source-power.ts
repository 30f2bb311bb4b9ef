import { ApplicationFailure, type Client, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { captureWorkflowIdOf } from '../../model/snapshots/capture.ts';
import { sourceWorkflowIdOf } from '../../model/snapshots/source-access.ts';
import {
  FORCE_STOP,
  SOURCE_POWER_MEMO,
  SOURCE_POWER_WORKFLOW,
  type SourcePowerEnd,
  type SourcePowered,
  type SourcePowerInput,
  sourcePowerWorkflowIdOf,
} from '../../model/snapshots/source-power.ts';
import { startOrJoin } from '../temporal/start-or-join.ts';

type SourcePowerWorkflow = (input: SourcePowerInput) => Promise<SourcePowered>;

/**
 * Returns when Temporal has it; joins the same task when that runs, and forces a stop that runs when this one is forced.
 * @throws MayflyError source_busy while it is captured or prepared, and is to be stopped; too_many_requests
 */
export async function startSourcePower(client: Client, input: SourcePowerInput): Promise<void> {
  const { hostId, name, task, force, actor } = input;
  if (task === 'stop' && !force) await refuseBusy(client, input);
  const workflowId = sourcePowerWorkflowIdOf(input);
  const { isNew, other } = await startOrJoin<SourcePowerWorkflow>(client, SOURCE_POWER_WORKFLOW, {
    workflowId,
    args: [input],
    task,
    memoKey: SOURCE_POWER_MEMO,
    apiKeyId: actor.apiKeyId,
    staticSummary: `${task} ${name} on ${hostId}`,
  });
  if (other) {
    const what = `${JSON.stringify(name)} is being ${task === 'start' ? 'stopped' : 'started'} at this moment.`;
    throw new MayflyError('too_many_requests', what, { cause: other.cause, retryAfterSeconds: 5 });
  }
  if (force && !isNew) await client.workflow.getHandle(workflowId).signal<[Actor]>(FORCE_STOP, actor);
}

/** Resolves when nothing starts or stops the source, with how that ended. */
export async function sourcePowerEnded(
  client: Client,
  of: Pick<SourcePowerInput, 'hostId' | 'name'>,
): Promise<SourcePowerEnd> {
  try {
    const powered = await client.workflow.getHandle<SourcePowerWorkflow>(sourcePowerWorkflowIdOf(of)).result();
    return { failure: null, ...powered };
  } catch (error) {
    const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
    if (!(cause instanceof ApplicationFailure) || !cause.type || !isErrorCode(cause.type)) throw error;
    return { failure: { code: cause.type, message: cause.message } };
  }
}

/** What would fail when the source went off meanwhile. */
async function refuseBusy(client: Client, { hostId, name }: SourcePowerInput): Promise<void> {
  const busy = {
    'it is being captured, or a capture of it deleted': captureWorkflowIdOf({ hostId, source: name }),
    'it is being prepared, or unprepared': sourceWorkflowIdOf(hostId, name),
  };
  for (const [why, workflowId] of Object.entries(busy)) {
    if (!(await isRunning(client, workflowId))) continue;
    const what = `${JSON.stringify(name)} is busy on ${hostId}: ${why}.`;
    throw new MayflyError('source_busy', what, { retryAfterSeconds: 5 });
  }
}

async function isRunning(client: Client, workflowId: string): Promise<boolean> {
  try {
    return (await client.workflow.getHandle(workflowId).describe()).status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
