import type { ImageStageInput, ImageStepLocation, ImageStepRef } from '../../model/image/image-saga.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import { control } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { runTaskCommand } from '../source/task-command.ts';
import type { ImageState } from './image-life.ts';

/** Profile of copying gigabytes from one guest to another. */
const COPY_PROFILE = PROFILE.work(30 * MINUTE_MS, { hostDownMs: 30 * MINUTE_MS });

/** Copies the files of a `COPY --from` between two sandboxes on one host; no other worker sees them. */
export async function copyFiles(life: ImageState, index: number, stage: ImageStageInput, from: string): Promise<void> {
  const { hostId, installationId } = await runStep(life, { imageId: life.input.imageId, index, part: 'pack' });
  const summary = `step ${index + 1}: files of ${from}`;
  const host = onHost({ hostId, installationId }, { ...COPY_PROFILE, summary });
  await life.step('carryImageFiles', () => host.carryImageFiles({ from, to: stage.builder.id }));
}

/**
 * Runs one step as a command, which ends with its sandbox.
 * @param isSent true: copies the step's files of the context into its guest first
 * @returns its host
 * @throws ApplicationFailure image_step_failed
 */
export function runStep(life: ImageState, ref: ImageStepRef, isSent = false): Promise<CommandInput> {
  return life.step('runStep', async () => {
    if (isSent) await sendFiles(ref, await control.imageStepPlace(ref));
    const begun = await control.beginImageStep(ref);
    const what = `${ref.part ?? 'step'} ${ref.index + 1} of ${life.input.steps}`;
    await runTaskCommand(begun, `${what} in ${begun.sandboxId}`);
    life.failure = await control.imageStepFailure(ref);
    if (life.failure) throw refusal(life.failure.code, life.failure.message);
    return begun;
  });
}

async function sendFiles({ imageId, index }: ImageStepRef, to: ImageStepLocation): Promise<void> {
  const { hostId, installationId, sandboxId } = to;
  const summary = `step ${index + 1}: files of the context`;
  const host = onHost({ hostId, installationId }, { ...COPY_PROFILE, summary });
  await host.sendImageFiles({ imageId, index, to: sandboxId });
}
