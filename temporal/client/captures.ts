import { MayflyError } from '../../model/errors.ts';
import {
  CAPTURE_MEMO,
  CAPTURE_WORKFLOW,
  type CaptureInput,
  captureWorkflowId,
  formatCaptureMemo,
} from '../../model/snapshots/capture-saga.ts';
import { TaskClient } from '../call/task-client.ts';

/** Starts and deletes captures of sources. */
export class CaptureWorkflows extends TaskClient {
  /**
   * Starts a capture of a source, or the deletion of one; a repeated call joins the running one.
   * @throws MayflyError source_busy during another one
   */
  async begin(input: CaptureInput): Promise<void> {
    const { task, captureId, source, hostId, actor } = input;
    await this.calls.call(async () => {
      const { other } = await this.startOrJoin(CAPTURE_WORKFLOW, {
        workflowId: captureWorkflowId(input),
        args: [input],
        memoKey: CAPTURE_MEMO,
        task: formatCaptureMemo(input),
        apiKeyId: actor.apiKeyId,
        staticSummary: `${task} ${captureId} of ${source} on ${hostId}`,
      });
      if (!other) return;
      const what = typeof other.running === 'string' ? other.running : 'something else';
      const why = `${JSON.stringify(source)} is busy on ${hostId}: ${what}.`;
      throw new MayflyError('source_busy', why, { cause: other.cause, retryAfterSeconds: 5 });
    });
  }

  /**
   * Resolves when no capture of the source is being made or deleted. @throws the signal's reason when it fires first
   */
  async ended(of: Pick<CaptureInput, 'hostId' | 'source'>, signal: AbortSignal): Promise<void> {
    await this.result(captureWorkflowId(of), signal);
  }
}
