import { CancellationScope, condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { BegunAttempt } from '../../model/functions/run-saga.ts';
import type { HostRef } from '../../model/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import type { AskedWaitpoint } from '../../model/waitpoints/waitpoint.ts';
import { controlUntilDone } from '../saga/control.ts';

/** A process that is brief is not looked at. Milliseconds. */
const FIRST_LOOK_MS = 1_000;

/** While the process of an attempt runs: what its guest asks for is written down, and what came for it is given to it. */
export class Waits {
  readonly #scope = new CancellationScope();
  #isOver = false;

  async follow(host: HostRef, { runId, sandboxId: attemptId }: BegunAttempt): Promise<void> {
    const asked: AskedWaitpoint[] = [];
    let given: string[] = [];
    const { followWaitpoints } = proxyActivities<HostActivities>({
      taskQueue: hostQueue(host),
      startToCloseTimeout: '60 days',
      heartbeatTimeout: '10s',
      retry: { initialInterval: '200ms', maximumInterval: '5s' },
      summary: readable(runId),
    });
    if (await condition(() => this.#isOver, FIRST_LOOK_MS)) return;
    try {
      await this.#scope.run(async () => {
        for (;;) {
          const names = asked.map(({ name }) => name);
          const changed = await followWaitpoints({ runId, attemptId, asked: names, given });
          asked.push(...changed.asked);
          given = changed.given;
          const seen = { runId, attemptId, asked, due: changed.due };
          await CancellationScope.nonCancellable(() => controlUntilDone.recordWaits(seen));
        }
      });
    } catch (error) {
      if (!isCancellation(error)) throw error;
    }
  }

  /** The process has ended. */
  end(): void {
    this.#isOver = true;
    this.#scope.cancel();
  }
}
