import { CancellationScope, condition, defineSignal, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { TriedSetup } from '../../../activities/setup/setup.ts';
import { SETUP_UNNEEDED, SETUP_WANTED, type SetupInput } from '../../../model/functions/setup/setup-saga.ts';
import { whenCancelled } from '../../saga/cancellation.ts';
import { controlUntilDone } from '../../saga/control.ts';
import { TaskLife } from '../../source/task-life.ts';

const unneeded = defineSignal(SETUP_UNNEEDED);
const wanted = defineSignal(SETUP_WANTED);

/** State of one setup in its workflow. */
export class SetupLife extends TaskLife {
  /** True after a signal that versions may not need it any longer; its record decides. */
  isTold = false;
  /** True when a deploy needs it since the record was last read. */
  isWanted = false;
  /** True when its workflow is cancelled in Temporal: no further attempt starts. */
  isCancelled = false;
  #tried: TriedSetup | null = null;

  constructor(readonly input: SetupInput) {
    super(input.timeouts);
    setHandler(unneeded, () => {
      this.isTold = true;
    });
    setHandler(wanted, () => {
      this.isWanted = true;
    });
    whenCancelled(() => {
      this.isCancelled = true;
    });
  }

  /** Sets the attempt for all later changes. */
  begin(tried: TriedSetup): void {
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
