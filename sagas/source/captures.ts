import type { Client } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import {
  CAPTURE_MEMO,
  CAPTURE_WORKFLOW,
  type CaptureInput,
  captureMemoOf,
  captureWorkflowIdOf,
} from '../../model/snapshots/capture.ts';
import { startOrJoin } from '../temporal/start-or-join.ts';

type CaptureWorkflow = (input: CaptureInput) => Promise<void>;

/** Returns when Temporal has it; joins the same task when that runs. @throws MayflyError source_busy */
export async function startCapture(client: Client, input: CaptureInput): Promise<void> {
  const { task, captureId, source, hostId, actor } = input;
  const { other } = await startOrJoin<CaptureWorkflow>(client, CAPTURE_WORKFLOW, {
    workflowId: captureWorkflowIdOf(input),
    args: [input],
    memoKey: CAPTURE_MEMO,
    task: captureMemoOf(input),
    apiKeyId: actor.apiKeyId,
    staticSummary: `${task} ${captureId} of ${source} on ${hostId}`,
  });
  if (!other) return;
  const what = typeof other.running === 'string' ? other.running : 'something else';
  throw new MayflyError('source_busy', `${JSON.stringify(source)} is busy on ${hostId}: ${what}.`, {
    cause: other.cause,
    retryAfterSeconds: 5,
  });
}
