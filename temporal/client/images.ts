import {
  CANCEL_IMAGE,
  type CancelImage,
  IMAGE_MEMO,
  IMAGE_WORKFLOW,
  type ImageInput,
  imageWorkflowId,
} from '../../model/image/image-saga.ts';
import { TaskClient } from '../call/task-client.ts';

/** Starts and cancels builds of images. */
export class ImageWorkflows extends TaskClient {
  /**
   * Starts a build, or joins the same one. Resolves when Temporal has it.
   * @returns id of another build of that name that runs; null for none
   */
  async build(input: ImageInput): Promise<string | null> {
    const { name, imageId, actor } = input;
    const started = await this.calls.call(() =>
      this.startOrJoin(IMAGE_WORKFLOW, {
        workflowId: imageWorkflowId(input),
        args: [input],
        memoKey: IMAGE_MEMO,
        task: imageId,
        apiKeyId: actor.apiKeyId,
        staticSummary: `${imageId}: ${name}`,
      }),
    );
    return started?.other ? String(started.other.running) : null;
  }

  /** Resolves when Temporal has the request, or nothing runs that could be cancelled. */
  async cancel(name: string, cancel: CancelImage): Promise<void> {
    await this.signal(imageWorkflowId({ name }), CANCEL_IMAGE, cancel);
  }
}
