import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { ImageFailure } from '../../model/image/image.ts';
import type { ImageRecord } from '../../model/image/image-record.ts';
import type { ImageInput } from '../../model/image/image-saga.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from '../source/task-life.ts';

/** One build, as its workflow knows it. All writes of its record go through here. */
export class ImageLife extends TaskLife {
  /** Why a step of the Dockerfile failed; null: none did. */
  failure: ImageFailure | null = null;

  /** Of the step that was done last. */
  lastSnapshot: string | null = null;
  #done: number;

  constructor(readonly input: ImageInput) {
    super({ ...DEFAULT_TIMEOUTS, ...input.timeouts }.taskPauseMs);
    this.#done = input.cached ?? input.first;
  }

  async stepDone(snapshotId: string): Promise<void> {
    this.#done += 1;
    this.lastSnapshot = snapshotId;
    await this.recordChange({ done: this.#done, snapshotId });
  }

  /** Changes the record; also when the workflow is being cancelled. */
  async recordChange(changes: Partial<ImageRecord>): Promise<void> {
    setCurrentDetails([changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const { imageId } = this.input;
    const change = { imageId, changes: { ...changes, updatedAt: now() } };
    await CancellationScope.nonCancellable(() => controlUntilDone.rememberImage(change));
  }
}
