import { executeChild, ParentClosePolicy } from '@temporalio/workflow';
import type { ImageInput } from '../../model/image/image-saga.ts';
import {
  MAKE_TEMPLATE_WORKFLOW,
  REMOVE_TEMPLATE,
  templateRequestWorkflowId,
  templateWorkflowId,
} from '../../model/templates/template-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { trySignal, waitForWorkflow } from '../saga/subscription.ts';
import type { TaskSandbox } from '../source/task-sandbox.ts';
import type { makeTemplate } from '../template/make-template.ts';
import { inputFromSnapshot } from './at-snapshot.ts';
import type { ImageState } from './image-life.ts';
import { runStep } from './image-step.ts';
import { compensateMakeSource, type MadeSource, makeSource } from './make-source.ts';

type Ready = NonNullable<ImageInput['ready']>;

/**
 * Runs the readiness check in a fresh machine without egress, as for a template.
 * @throws ApplicationFailure image_step_failed
 */
export async function checkReady(
  life: ImageState,
  { checker }: Ready,
  sandbox: TaskSandbox,
  snapshotId: string,
): Promise<void> {
  const from = await inputFromSnapshot(checker, snapshotId);
  await life.step('startChecker', () => sandbox.start({ from }));
  const { imageId, steps } = life.input;
  await runStep(life, { imageId, index: steps - 1, part: 'ready' });
}

/** Makes a source with a template, where its host supports templates; or neither. */
export function makeReadySource(life: ImageState, ready: Ready, snapshotId: string): Promise<void> {
  return saga(async (undo) => {
    const source = await makeSource(life, snapshotId, (made) =>
      undo('makeSource', () => life.retryUntilDone('deleteSource', () => compensateMakeSource(life, made))),
    );
    await life.recordChange({ waitingFor: 'its template' });
    // Until its key is known, the template is removed with the source.
    await life.step('makeTemplate', () => makeTemplateOf(life, ready, source, undo));
  });
}

async function makeTemplateOf(
  { input }: ImageState,
  { templateId: wanted }: Ready,
  { hostId, installationId }: MadeSource,
  undo: Undo,
): Promise<void> {
  const { name, actor, timeouts } = input;
  const made = await executeChild<typeof makeTemplate>(MAKE_TEMPLATE_WORKFLOW, {
    workflowId: templateRequestWorkflowId(wanted),
    args: [
      {
        templateId: wanted,
        hostId,
        installationId,
        project: actor.project,
        source: name,
        cpus: null,
        memoryMib: null,
        actor,
        ...(timeouts && { timeouts }),
      },
    ],
    parentClosePolicy: ParentClosePolicy.ABANDON,
    staticSummary: `${name} on ${hostId}`,
  });
  if ('refused' in made) {
    if (made.refused.code === 'template_unsupported') return;
    throw refusal(made.refused.code, made.refused.message);
  }
  const { templateId, templateKey } = made;
  const workflowId = templateWorkflowId({ hostId, templateKey });
  // the template is also removed with its source
  undo('makeTemplate', async () => void (await trySignal(workflowId, REMOVE_TEMPLATE, { templateId })));
  const read = () => controlUntilDone.readTemplateOutcome({ templateId });
  const { state, reason } = await waitForWorkflow({ workflowId }, read);
  if (state !== 'ready') throw refusal('template_failed', reason ?? `It is ${state}.`);
}
