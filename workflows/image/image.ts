import {
  CancellationScope,
  defineSignal,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { sourceIdOf } from '../../model/ids.ts';
import { CANCEL_IMAGE, type CancelImage, type ImageInput } from '../../model/image/image-saga.ts';
import { COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../../model/sandbox/command.ts';
import { BAKE_SOURCE_WORKFLOW, bakeWorkflowIdOf } from '../../model/snapshots/baked-source.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf, refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { saga } from '../saga/saga.ts';
import type { bakeSource } from '../source/bake-source.ts';
import { TaskSandbox } from '../source/task-sandbox.ts';
import { ImageLife } from './image-life.ts';

const cancel = defineSignal<[CancelImage]>(CANCEL_IMAGE);

/** A snapshot may have to flatten what is below it. */
const { takeImageLayer } = proxyActivities<ControlActivities>({
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', maximumInterval: '5s', maximumAttempts: 10 },
});
/** All steps together. */
const LONGEST = '4h';

/**
 * From a Dockerfile to a source:
 *
 *   builder (of the source, or of the last step that is known) → each step: a command, then a snapshot → builder destroyed →
 *   a source is made of the last snapshot
 *
 * When a step fails, or it is cancelled, the builder is destroyed, and nothing is left but the snapshots of steps that were done.
 */
export async function image(input: ImageInput): Promise<void> {
  const life = new ImageLife(input);
  const building = new CancellationScope();
  let isCancelled = false;
  setHandler(cancel, ({ imageId }) => {
    if (imageId !== input.imageId) return;
    isCancelled = true;
    building.cancel();
  });
  try {
    await building.run(() => CancellationScope.withTimeout(LONGEST, () => build(life)));
    await forgetContext(input);
    await life.recordChange({ state: 'ready', readyAt: now(), waitingFor: null });
  } catch (error) {
    await forgetContext(input);
    const { step, code, message } = failureOf(error, life.failedStep);
    const isLate = isCancellation(error) && !isCancelled;
    const said = isLate ? `it took longer than ${LONGEST}` : `${step}: ${message}`;
    const plain = {
      code: isLate ? 'step_timeout' : code,
      message: said,
      line: null,
      exitCode: null,
      log: null,
    } as const;
    const failure = isCancelled ? null : (life.failure ?? plain);
    await life.recordChange({ state: isCancelled ? 'cancelled' : 'failed', failure, waitingFor: null });
  }
}

function forgetContext({ imageId }: ImageInput): Promise<void> {
  return CancellationScope.nonCancellable(() => controlUntilDone.forgetImageContext({ imageId }));
}

async function build(life: ImageLife): Promise<void> {
  await life.recordChange({ state: 'building' });
  const snapshotId = await doSteps(life);
  await life.recordChange({ state: 'finishing' });
  await makeSource(life, snapshotId);
}

/** @returns the snapshot of the last */
async function doSteps(life: ImageLife): Promise<string> {
  const { imageId, builder: sandbox, first, steps } = life.input;
  let { snapshotId } = life.input;
  const builder = new TaskSandbox(sandbox, 'image_failed');
  const destroyBuilder = () => life.retryUntilDone('destroyBuilder', () => builder.destroy());
  if (first < steps) {
    await saga(async (undo) => {
      undo('startBuilder', destroyBuilder);
      await life.step('startBuilder', () => builder.start());
      for (let index = first; index < steps; index++) {
        await runStep(life, index);
        ({ snapshotId } = await life.step('takeImageLayer', () => takeImageLayer({ imageId, index })));
        await life.recordChange({ done: index + 1, snapshotId });
      }
    });
    await destroyBuilder();
  }
  if (snapshotId === null) throw refusal('internal', 'A build without steps was begun.');
  return snapshotId;
}

/** The command ends with its sandbox, if the build does before it. @throws ApplicationFailure image_step_failed */
async function runStep(life: ImageLife, index: number): Promise<void> {
  const ref = { imageId: life.input.imageId, index };
  await life.step('runStep', async () => {
    const begun = await control.beginImageStep(ref);
    await executeChild<(input: CommandInput) => Promise<void>>(COMMAND_WORKFLOW, {
      workflowId: commandWorkflowIdOf(begun.commandId),
      args: [begun],
      cancellationType: 'ABANDON',
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `step ${index + 1} of ${life.input.steps} in ${begun.sandboxId}`,
    });
    life.failure = await control.imageStepFailure(ref);
    if (life.failure) throw refusal(life.failure.code, life.failure.message);
  });
}

async function makeSource(life: ImageLife, snapshotId: string): Promise<void> {
  const { name, bakeId, bakerId: builderId, actor, timeouts, builder } = life.input;
  await life.step('makeSource', async () => {
    const { snapshot, host } = await control.imageSnapshot({ snapshotId });
    const { hostId } = host;
    const baked = await executeChild<typeof bakeSource>(BAKE_SOURCE_WORKFLOW, {
      workflowId: bakeWorkflowIdOf(hostId, name),
      args: [
        {
          bakeId,
          sourceId: sourceIdOf(hostId, name),
          ...host,
          name,
          snapshot,
          builderId,
          ...(builder.size && { size: builder.size }),
          actor,
          requestedAt: now(),
          ...(timeouts && { timeouts }),
        },
      ],
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
      staticSummary: `${name} of ${snapshotId} on ${hostId}`,
    });
    if (baked.state !== 'ready') {
      const { code = 'bake_failed' as const, message = baked.state } = baked.failure ?? {};
      throw refusal(code, message);
    }
  });
}
