import { CancellationScope, condition, defineSignal, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { SetupAttemptRef } from '../../../activities/setup/setup.ts';
import { RELEASE_SETUP, REQUEST_SETUP, type SetupInput } from '../../../model/functions/setup/setup-saga.ts';
import { whenCancelled } from '../../saga/cancellation.ts';
import { controlUntilDone } from '../../saga/control.ts';
import { TaskLife } from '../../source/task-life.ts';

const setupUnneeded = defineSignal(RELEASE_SETUP);
const setupWanted = defineSignal(REQUEST_SETUP);

/** State of one setup in its workflow. */
export class SetupState extends TaskLife {
  /** True after a signal that versions may not need it any longer; its record decides. */
  isTold = false;
  /** True when a deploy needs it since the record was last read. */
  isWanted = false;
  /** True when its workflow is cancelled in Temporal: no further attempt starts. */
  isCancelled = false;
  #tried: SetupAttemptRef | null = null;

  constructor(readonly input: SetupInput) {
    super(input.timeouts);
    setHandler(setupUnneeded, () => {
      this.isTold = true;
    });
    setHandler(setupWanted, () => {
      this.isWanted = true;
    });
    whenCancelled(() => {
      this.isCancelled = true;
    });
  }

  /** Sets the attempt for all later changes. */
  begin(tried: SetupAttemptRef): void {
    this.#tried = tried;
  }

  async recordChange({ waitingFor }: { waitingFor: string | null }): Promise<void> {
    setCurrentDetails(waitingFor ?? '');
    const tried = this.#tried;
    if (!tried) return;
    await CancellationScope.nonCancellable(() => controlUntilDone.showSetup({ ...tried, waitingFor }));
  }

  /** True when the work in progress must be undone. */
  get isUnneeded(): boolean {
    return this.isTold || this.isCancelled;
  }

  /** Pauses until the time is up or no version needs the setup. */
  async pause(ms: number): Promise<void> {
    await condition(() => this.isUnneeded, ms);
  }
}
