import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Proof } from '../../model/sandbox/proof.ts';
import { unprovedEnd } from '../../model/sandbox/proof.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';

/** What waits for a host for as long as it takes, until an admin gives that host up. */
export class Forgotten {
  #hostId: string | null = null;
  readonly #waiting = new Set<CancellationScope>();

  constructor(private readonly life: { readonly id: string }) {}

  giveUp(hostId: string): void {
    this.#hostId = hostId;
    for (const scope of this.#waiting) scope.cancel();
  }

  /** Null: it was not given up. */
  get hostId(): string | null {
    return this.#hostId;
  }

  get isForgotten(): boolean {
    return this.#hostId !== null;
  }

  /** Waits for something, shielded from every other cancellation. @throws ApplicationFailure host_forgotten */
  orLeft<T>(run: () => Promise<T>): Promise<T> {
    return CancellationScope.nonCancellable(() => this.#orLeft(new CancellationScope(), run));
  }

  /** As {@link orLeft}, but left off too when the scope that it is called in is cancelled. */
  orCancelled<T>(run: () => Promise<T>): Promise<T> {
    return this.#orLeft(new CancellationScope(), run);
  }

  async #orLeft<T>(scope: CancellationScope, run: () => Promise<T>): Promise<T> {
    if (this.isForgotten) throw this.#failure();
    this.#waiting.add(scope);
    try {
      return await scope.run(run);
    } catch (error) {
      if (this.isForgotten && isCancellation(error)) throw this.#failure();
      throw error;
    } finally {
      this.#waiting.delete(scope);
    }
  }

  /** @param error what kept it from being proved @throws that, when no host was given up */
  unproved(error: unknown): Proof {
    if (this.#hostId === null) throw error;
    return unprovedEnd(this.life.id, this.#hostId, now());
  }

  #failure() {
    return refusal('host_forgotten', `${this.#hostId} was forgotten while ${this.life.id} waited for it.`);
  }
}

/** Why a sandbox has failed of which nothing could be proved. */
export function unprovedFailure({ unproved }: Proof): SandboxFailure | null {
  return unproved === undefined ? null : { code: 'host_forgotten', step: 'lookAgain', message: unproved };
}
