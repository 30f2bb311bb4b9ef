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
import {
  CANCEL_IMAGE,
  type CancelImage,
  type ImageInput,
  type ImageStageInput,
  type ImageStepRef,
} from '../../model/image/image-saga.ts';
import { COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../../model/sandbox/command.ts';
import { BAKE_SOURCE_WORKFLOW, bakeWorkflowIdOf } from '../../model/snapshots/baked-source.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf, refusal } from '../saga/failure.ts';
import { hostActivities } from '../saga/host-activities.ts';
import { now } from '../saga/now.ts';
import { saga, type Undo } from '../saga/saga.ts';
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
/** Gigabytes, from one guest into another. */
const CARRYING = {
  scheduleToStartTimeout: '30m',
  startToCloseTimeout: '30m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', maximumInterval: '5s', maximumAttempts: 10 },
} as const;
/** All steps together. */
const LONGEST = '4h';

/**
 * From a Dockerfile to a source:
 *
 *   each stage: builder (of the source, or of the last step that is known) → each step: a command, then a snapshot → builder
 *   destroyed, when nothing is copied from it any more → a source is made of the last snapshot
 *
 * When a step fails, or it is cancelled, the builder is destroyed, and nothing is left but the snapshots of steps that were done.
 */
export async function image(input: ImageInput): Promise<void> {
  const life = new ImageLife(input);
  const building = new CancellationScope();
  let isCancelled = false;
  setHandler(cancel, (asked) => {
    if (asked.imageId !== input.imageId || isCancelled) return;
    isCancelled = true;
    life.cancelAsked(asked);
    building.cancel();
  });
  try {
    await building.run(() => CancellationScope.withTimeout(LONGEST, () => build(life)));
    await forgetContext(input);
    await life.over('ready', { readyAt: now() });
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
    await life.over(isCancelled ? 'cancelled' : 'failed', { failure });
  }
}

function forgetContext({ imageId }: ImageInput): Promise<void> {
  return CancellationScope.nonCancellable(() => controlUntilDone.forgetImageContext({ imageId }));
}

async function build(life: ImageLife): Promise<void> {
  life.requested();
  await life.recordChange({ state: 'building' });
  const snapshotId = await doSteps(life);
  await life.recordChange({ state: 'finishing' });
  await makeSource(life, snapshotId);
}

/** @returns the snapshot of the last */
async function doSteps(life: ImageLife): Promise<string> {
  const { stages, snapshotId } = life.input;
  const all = stages ?? stagesOfBefore(life.input);
  if (all.length > 0) await saga((undo) => doStages(life, all, undo));
  const last = all.length > 0 ? life.lastSnapshot : snapshotId;
  if (last === null) throw refusal('internal', 'A build without steps was begun.');
  return last;
}

/** Of builds that were begun when there was one sandbox for all. */
function stagesOfBefore({ builder, first, steps }: ImageInput): ImageStageInput[] {
  return first < steps ? [{ place: 0, builder, first, end: steps, parent: null, copies: [], until: 0 }] : [];
}

/** A stage that others copy from lives until the last of them is done. */
async function doStages(life: ImageLife, stages: readonly ImageStageInput[], undo: Undo): Promise<void> {
  const living = new Map<number, ImageStageInput & { sandbox: TaskSandbox }>();
  const ends = new Map<number, string>();
  for (const stage of stages) {
    const { place } = stage;
    const sandbox = new TaskSandbox(await builderInput(stage, ends), 'image_failed');
    undo('startBuilder', () => life.retryUntilDone('destroyBuilder', () => sandbox.destroy()));
    await life.step('startBuilder', () => sandbox.start());
    living.set(place, { ...stage, sandbox });
    for (let index = stage.first; index < stage.end; index++) {
      const from = stage.copies.find(({ step }) => step === index)?.from;
      if (from !== undefined) await copyFiles(life, index, stage, living.get(from)?.builder.id ?? '');
      const isSent = stage.sent?.includes(index) ?? false;
      await runStep(life, { imageId: life.input.imageId, index }, isSent);
      const { imageId } = life.input;
      const { snapshotId } = await life.step('takeImageLayer', () => takeImageLayer({ imageId, index }));
      await life.stepDone(snapshotId);
      ends.set(place, snapshotId);
    }
    for (const [which, { until, sandbox: over }] of living) {
      if (until > place) continue;
      await life.retryUntilDone('destroyBuilder', () => over.destroy());
      living.delete(which);
    }
  }
}

/** One that begins where another has ended just now begins at its snapshot, on its host. */
async function builderInput({ builder, parent }: ImageStageInput, ends: ReadonlyMap<number, string>) {
  if (parent === null) return builder;
  const snapshotId = ends.get(parent);
  if (snapshotId === undefined) throw refusal('internal', 'A stage was begun before the one that it begins at.');
  const { snapshot, host } = await control.imageSnapshot({ snapshotId });
  const { hostId, installationId } = host;
  const { content: _content, ...input } = builder;
  const installations = installationId === null ? {} : { [hostId]: installationId };
  return { ...input, spec: { ...builder.spec, source: snapshot.source, snapshotId }, hostIds: [hostId], installations };
}

/** What a COPY takes of another stage, from its sandbox into the one that copies; no worker but their host's sees it. */
async function copyFiles(life: ImageLife, index: number, stage: ImageStageInput, from: string): Promise<void> {
  const { hostId, installationId = null } = await runStep(life, { imageId: life.input.imageId, index, part: 'pack' });
  const summary = `step ${index + 1}: files of ${from}`;
  const host = hostActivities({ hostId, installationId }, (name, execute) =>
    life.step(name, () => execute({ ...CARRYING, summary })),
  );
  await host.carryImageFiles({ from, to: stage.builder.id });
}

/**
 * The command ends with its sandbox, if the build does before it.
 * @param isSent what it takes of the context is brought into its guest first
 * @returns where it ran
 * @throws ApplicationFailure image_step_failed
 */
function runStep(life: ImageLife, ref: ImageStepRef, isSent = false): Promise<CommandInput> {
  return life.step('runStep', async () => {
    const begun = await control.beginImageStep(ref);
    if (isSent) await sendFiles(ref, begun);
    await executeChild<(input: CommandInput) => Promise<void>>(COMMAND_WORKFLOW, {
      workflowId: commandWorkflowIdOf(begun.commandId),
      args: [begun],
      cancellationType: 'ABANDON',
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: `step ${ref.index + 1} of ${life.input.steps} in ${begun.sandboxId}`,
    });
    life.failure = await control.imageStepFailure(ref);
    if (life.failure) throw refusal(life.failure.code, life.failure.message);
    return begun;
  });
}

async function sendFiles({ imageId, index }: ImageStepRef, to: CommandInput): Promise<void> {
  const { hostId, installationId = null, sandboxId } = to;
  const summary = `step ${index + 1}: files of the context`;
  const host = hostActivities({ hostId, installationId }, (_name, execute) => execute({ ...CARRYING, summary }));
  await host.sendImageFiles({ imageId, index, to: sandboxId });
}

async function makeSource(life: ImageLife, snapshotId: string): Promise<void> {
  const { name, bakeId, bakerId: builderId, actor, timeouts, builder } = life.input;
  await life.step('makeSource', async () => {
    const { snapshot, host, like } = await control.imageSnapshot({ snapshotId });
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
          ...(like != null && { like }),
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
