import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import {
  CAPTURE_MEMO,
  CAPTURE_WORKFLOW,
  type CaptureInput,
  captureMemoOf,
  captureWorkflowIdOf,
} from '../model/snapshots/capture.ts';

type CaptureWorkflow = (input: CaptureInput) => Promise<void>;

/** Returns when Temporal has it; joins the same task when that runs. @throws MayflyError source_busy */
export async function startCapture(client: Client, input: CaptureInput): Promise<void> {
  const { task, captureId, source, hostId, actor } = input;
  const workflowId = captureWorkflowIdOf(input);
  try {
    await client.workflow.start<CaptureWorkflow>(CAPTURE_WORKFLOW, {
      workflowId,
      taskQueue: CONTROL_QUEUE,
      args: [input],
      memo: { [CAPTURE_MEMO]: captureMemoOf(input) },
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: `${task} ${captureId} of ${source} on ${hostId}`,
      staticDetails: `Asked for by API key ${actor.apiKeyId}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const { memo } = await client.workflow.getHandle(workflowId).describe();
    const running = memo?.[CAPTURE_MEMO];
    if (running === captureMemoOf(input)) return;
    const what = typeof running === 'string' ? running : 'something else';
    throw new MayflyError('source_busy', `${JSON.stringify(source)} is busy on ${hostId}: ${what}.`, {
      cause: error,
      retryAfterSeconds: 5,
    });
  }
}
