import { executeChild, ParentClosePolicy } from '@temporalio/workflow';
import type { ImageInput } from '../../model/image/image-saga.ts';
import {
  MAKE_TEMPLATE_WORKFLOW,
  REMOVE_TEMPLATE,
  templateRequestWorkflowIdOf,
  templateWorkflowIdOf,
} from '../../model/templates/template-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { trySignal, waitForWorkflow } from '../saga/subscription.ts';
import type { TaskSandbox } from '../source/task-sandbox.ts';
import type { makeTemplate } from '../template/make-template.ts';
import { atSnapshot } from './at-snapshot.ts';
import type { ImageLife } from './image-life.ts';
import { runStep } from './image-step.ts';
import { type MadeSource, makeSource, takeBackSource } from './make-source.ts';

type Ready = NonNullable<ImageInput['ready']>;

/**
 * Runs the readiness check in a fresh machine without egress, as for a template.
 * @throws ApplicationFailure image_step_failed
 */
export async function checkReady(
  life: ImageLife,
  { checker }: Ready,
  sandbox: TaskSandbox,
  snapshotId: string,
): Promise<void> {
  const from = await atSnapshot(checker, snapshotId);
  await life.step('startChecker', () => sandbox.start({ from }));
  const { imageId, steps } = life.input;
  await runStep(life, { imageId, index: steps - 1, part: 'ready' });
}

/** Makes a source with a template, where its host supports templates; or neither. */
export function makeReadySource(life: ImageLife, ready: Ready, snapshotId: string): Promise<void> {
  return saga(async (undo) => {
    const source = await makeSource(life, snapshotId, (made) =>
      undo('makeSource', () => life.retryUntilDone('deleteSource', () => takeBackSource(life, made))),
    );
    await life.recordChange({ waitingFor: 'its template' });
    // Until its key is known, the template is removed with the source.
    await life.step('makeTemplate', () => makeItsTemplate(life, ready, source, undo));
  });
}

async function makeItsTemplate(
  { input }: ImageLife,
  { templateId: wanted }: Ready,
  { hostId, installationId }: MadeSource,
  undo: Undo,
): Promise<void> {
  const { name, actor, timeouts } = input;
  const made = await executeChild<typeof makeTemplate>(MAKE_TEMPLATE_WORKFLOW, {
    workflowId: templateRequestWorkflowIdOf(wanted),
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
  const workflowId = templateWorkflowIdOf({ hostId, templateKey });
  // the template is also removed with its source
  undo('makeTemplate', async () => void (await trySignal(workflowId, REMOVE_TEMPLATE, { templateId })));
  const read = () => controlUntilDone.readTemplateOutcome({ templateId });
  const { state, reason } = await waitForWorkflow({ workflowId }, read);
  if (state !== 'ready') throw refusal('template_failed', reason ?? `It is ${state}.`);
}
