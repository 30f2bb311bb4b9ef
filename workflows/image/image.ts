import { CancellationScope, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import { CANCEL_IMAGE, type CancelImage, type ImageInput, type ImageStageInput } from '../../model/image/image-saga.ts';
import { TEMPORAL_OPERATOR } from '../../model/sagas/cancellation.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { TaskSandbox } from '../source/task-sandbox.ts';
import { inputFromSnapshot } from './at-snapshot.ts';
import { ImageState } from './image-life.ts';
import { copyFiles, runStep } from './image-step.ts';
import { makeSource } from './make-source.ts';
import { checkReady, makeReadySource } from './ready.ts';

const cancel = defineSignal<[CancelImage]>(CANCEL_IMAGE);

/** A snapshot may first have to flatten its parents. */
const { takeImageLayer } = proxyActivities<ControlActivities>(PROFILE.work(30 * MINUTE_MS));
/** Timeout of all steps together. */
const LONGEST = '4h';

/**
 * Builds a source from a Dockerfile:
 *
 *   each stage: builder (from the source, or the last cached step) → each step: a command, then a snapshot → builder
 *   destroyed, when no later stage copies from it → a source from the last snapshot
 *
 * With a readiness check, a fresh sandbox must pass it first, and the source gets a template. When anything fails, or
 * the build is cancelled, its sandboxes and source are removed; only snapshots of finished steps remain.
 */
export async function image(input: ImageInput): Promise<void> {
  const life = new ImageState(input);
  let isCancelled = false;
  const cancelBuild = (request: CancelImage) => {
    if (request.imageId !== input.imageId || isCancelled) return;
    isCancelled = true;
    life.cancelAsked(request);
  };
  setHandler(cancel, cancelBuild);
  whenCancelled(() => cancelBuild({ imageId: input.imageId, actor: TEMPORAL_OPERATOR }));
  life.requested();
  if (await life.recordChange({ state: 'building' })) return;
  const built = await life.runWithin(
    LONGEST,
    () => isCancelled,
    () => build(life),
  );
  await CancellationScope.nonCancellable(() => controlUntilDone.forgetImageContext({ imageId: input.imageId }));
  if ('value' in built) return life.over('ready', { readyAt: now() });
  const failure = built.failure && (life.failure ?? { ...built.failure, line: null, exitCode: null, log: null });
  await life.over(failure ? 'failed' : 'cancelled', { failure });
}

async function build(life: ImageState): Promise<void> {
  const { ready } = life.input;
  const snapshotId = await saga(async (undo) => {
    const checker = ready && new TaskSandbox(ready.checker, 'image_failed');
    const destroyChecker = () => life.retryUntilDone('destroyChecker', async () => checker?.destroy());
    if (checker) undo('startChecker', destroyChecker); // first, for a workflow reset and cancelled before this step
    const last = await doSteps(life, undo);
    if (!ready || !checker) return last;
    await checkReady(life, ready, checker, last);
    await destroyChecker();
    return last;
  });
  await life.recordChange({ state: 'finishing' });
  if (ready) await makeReadySource(life, ready, snapshotId);
  else await makeSource(life, snapshotId);
}

/** @returns the last snapshot */
async function doSteps(life: ImageState, undo: Undo): Promise<string> {
  const { stages, snapshotId } = life.input;
  if (stages.length > 0) await doStages(life, stages, undo);
  const last = stages.length > 0 ? life.lastSnapshot : snapshotId;
  if (last === null) throw refusal('internal', 'A build without steps was begun.');
  return last;
}

/** Runs the stages. A builder lives until the last stage that copies from it is done. */
async function doStages(life: ImageState, stages: readonly ImageStageInput[], undo: Undo): Promise<void> {
  const made = stages.map((stage) => ({ ...stage, sandbox: new TaskSandbox(stage.builder, 'image_failed') }));
  const living = new Map<number, (typeof made)[number]>();
  for (const { sandbox } of made)
    undo('startBuilder', () => life.retryUntilDone('destroyBuilder', () => sandbox.destroy()));
  const ends = new Map<number, string>();
  for (const stage of made) {
    const { place, sandbox } = stage;
    const from = await builderInput(stage, ends);
    living.set(place, stage);
    await life.step('startBuilder', () => sandbox.start({ from }));
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

/** Returns the input of a stage's builder; a stage based on another starts at its snapshot, on its host. */
async function builderInput({ builder, parent }: ImageStageInput, ends: ReadonlyMap<number, string>) {
  if (parent === null) return builder;
  const snapshotId = ends.get(parent);
  if (snapshotId === undefined) throw refusal('internal', 'A stage was begun before the one that it begins at.');
  return inputFromSnapshot(builder, snapshotId);
}
