import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Proof } from '../../model/sandbox/proof.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';

/** What waits for a host for as long as it takes, until an admin gives that host up. */
export class Forgotten {
  readonly #hostIds: Set<string>;
  readonly #waiting = new Map<CancellationScope, string>();

  /** @param hostIds those that were given up in a run before this one */
  constructor(
    private readonly life: { readonly id: string },
    hostIds: readonly string[] = [],
  ) {
    this.#hostIds = new Set(hostIds);
  }

  giveUp(hostId: string): void {
    this.#hostIds.add(hostId);
    for (const [scope, waitedFor] of this.#waiting) if (waitedFor === hostId) scope.cancel();
  }

  get hostIds(): string[] {
    return [...this.#hostIds];
  }

  has(hostId: string | null): boolean {
    return hostId !== null && this.#hostIds.has(hostId);
  }

  /**
   * Waits for something that a host is to do, shielded from every other cancellation.
   * @param hostId null: of no host that could be given up
   * @throws ApplicationFailure host_forgotten
   */
  orLeft<T>(hostId: string | null, run: () => Promise<T>): Promise<T> {
    return CancellationScope.nonCancellable(() => this.#orLeft(hostId, run));
  }

  /** As {@link orLeft}, but left off too when the scope that it is called in is cancelled. */
  orCancelled<T>(hostId: string, run: () => Promise<T>): Promise<T> {
    return this.#orLeft(hostId, run);
  }

  async #orLeft<T>(hostId: string | null, run: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope();
    if (this.has(hostId)) throw this.#failure(hostId);
    if (hostId !== null) this.#waiting.set(scope, hostId);
    try {
      return await scope.run(run);
    } catch (error) {
      if (this.has(hostId) && isCancellation(error)) throw this.#failure(hostId);
      throw error;
    } finally {
      this.#waiting.delete(scope);
    }
  }

  /** Where a host was given up, what it was to do is left. @param instead `@default` nothing is done */
  async unlessForgotten<T>(hostId: string | null, run: () => Promise<T>, instead: () => T): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (!this.has(hostId)) throw error;
      return instead();
    }
  }

  #failure(hostId: string | null) {
    return refusal('host_forgotten', `${hostId} was forgotten while ${this.life.id} waited for it.`);
  }
}

/** Why a sandbox has failed of which not everything could be proved. */
export function unprovedFailure({ unproved }: Proof): SandboxFailure | null {
  return unproved === undefined ? null : { code: 'host_forgotten', step: 'lookAgain', message: unproved };
}
