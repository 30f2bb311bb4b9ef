import { CancellationScope, condition, defineSignal, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { TriedSetup } from '../../../activities/setup/setup.ts';
import { SETUP_UNNEEDED, SETUP_WANTED, type SetupInput } from '../../../model/functions/setup/setup-saga.ts';
import { whenCancelled } from '../../saga/cancellation.ts';
import { controlUntilDone } from '../../saga/control.ts';
import { TaskLife } from '../../source/task-life.ts';

const unneeded = defineSignal(SETUP_UNNEEDED);
const wanted = defineSignal(SETUP_WANTED);

/** One setup, as its workflow knows it. */
export class SetupLife extends TaskLife {
  /** Somebody says that no version needs it any more: its record tells. */
  isTold = false;
  /** A deploy needs it since the record was last read. */
  isWanted = false;
  /** Somebody has cancelled its workflow: no other try is begun. */
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

  /** What is done from now on is done for that try. */
  begin(tried: TriedSetup): void {
    this.#tried = tried;
  }

  async recordChange({ waitingFor }: { waitingFor: string | null }): Promise<void> {
    setCurrentDetails(waitingFor ?? '');
    const tried = this.#tried;
    if (!tried) return;
    await CancellationScope.nonCancellable(() => controlUntilDone.showSetup({ ...tried, waitingFor }));
  }

  /** What is under way is undone. */
  get isUnneeded(): boolean {
    return this.isTold || this.isCancelled;
  }

  /** A pause that ends when no version needs it. */
  async pause(ms: number): Promise<void> {
    await condition(() => this.isUnneeded, ms);
  }
}
