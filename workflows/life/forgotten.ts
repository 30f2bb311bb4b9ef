import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { type HostRef, isSameHost } from '../../model/host.ts';
import type { Proof } from '../../model/sandbox/proof.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { refusal } from '../saga/failure.ts';

/** A host, or what a record says of one. */
type MaybeHost = Parameters<typeof isSameHost>[0];

/** Waits for hosts, each for as long as it takes, or until an admin decommissions it. */
export class Forgotten {
  readonly #hosts: HostRef[];
  readonly #waiting = new Map<CancellationScope, HostRef>();

  /** @param hosts those that were decommissioned in a run before this one */
  constructor(
    private readonly life: { readonly id: string },
    hosts: readonly HostRef[] = [],
  ) {
    this.#hosts = [...hosts];
  }

  giveUp(host: HostRef): void {
    this.#hosts.push(host);
    for (const [scope, waitedFor] of this.#waiting) if (isSameHost(waitedFor, host)) scope.cancel();
  }

  get hosts(): HostRef[] {
    return [...this.#hosts];
  }

  has(host: MaybeHost): boolean {
    return this.#hosts.some((one) => isSameHost(host, one));
  }

  /**
   * Waits for something that a host is to do. It ends with the scope that it is called in, too.
   * @throws ApplicationFailure host_forgotten
   */
  async orLeft<T>(host: HostRef, run: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope();
    const failure = refusal('host_forgotten', `${host.hostId} was forgotten while ${this.life.id} waited for it.`);
    if (this.has(host)) throw failure;
    this.#waiting.set(scope, host);
    try {
      return await scope.run(run);
    } catch (error) {
      throw this.has(host) && isCancellation(error) ? failure : error;
    } finally {
      this.#waiting.delete(scope);
    }
  }

  /** Where a host was decommissioned, what it was to do is left. */
  async unlessForgotten<T>(host: MaybeHost, run: () => Promise<T>, instead: () => T): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (!this.has(host)) throw error;
      return instead();
    }
  }
}

/** Why a sandbox has failed of which not everything could be proved. */
export function unprovedFailure({ unproved }: Proof): SandboxFailure | null {
  return unproved === undefined ? null : { code: 'host_forgotten', step: 'lookAgain', message: unproved };
}
