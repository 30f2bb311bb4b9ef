import type { Client } from '@temporalio/client';
import {
  CANCEL_IMAGE,
  type CancelImage,
  IMAGE_MEMO,
  IMAGE_WORKFLOW,
  type ImageInput,
  imageWorkflowIdOf,
} from '../../model/image/image-saga.ts';
import { isGone } from '../temporal/failure.ts';
import { startOrJoin } from '../temporal/start-or-join.ts';

type ImageWorkflow = (input: ImageInput) => Promise<void>;

/**
 * Returns when Temporal has it; the same build again joins it.
 * @returns the id of another build of that name, which runs; null: there is none
 */
export async function buildImage(client: Client, input: ImageInput): Promise<string | null> {
  const { name, imageId, actor } = input;
  const { other } = await startOrJoin<ImageWorkflow>(client, IMAGE_WORKFLOW, {
    workflowId: imageWorkflowIdOf(input),
    args: [input],
    memoKey: IMAGE_MEMO,
    task: imageId,
    apiKeyId: actor.apiKeyId,
    staticSummary: `${imageId}: ${name}`,
  });
  return other ? String(other.running) : null;
}

/** Returns when Temporal has the wish, or nothing runs that could be cancelled. */
export async function cancelImage(client: Client, name: string, cancel: CancelImage): Promise<void> {
  try {
    await client.workflow.getHandle(imageWorkflowIdOf({ name })).signal<[CancelImage]>(CANCEL_IMAGE, cancel);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
