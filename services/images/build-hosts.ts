import { MayflyError } from '../../model/errors.ts';
import { type HostRef, includesHost } from '../../model/host.ts';
import type { Origin } from '../sandboxes/placement.ts';

/** Stages give each other files on one host: the hosts that can be it still. Of a single stage nothing is asked. */
export class BuildHosts {
  #left: readonly HostRef[];

  /** @param sources what the stages begin at @throws MayflyError no_host */
  constructor(
    sources: readonly Origin[],
    private readonly stages: number,
  ) {
    const [first, ...others] = sources;
    this.#left = (first?.hosts ?? []).filter((host) => others.every(({ hosts }) => includesHost(hosts, host)));
    if (this.#left.length > 0) return;
    throw new MayflyError('no_host', 'No host has the sources of all stages, which are built on one.');
  }

  /** Whether what a snapshot's host alone can do can be done with the rest; from then on all is done there. */
  take({ hosts }: Origin): boolean {
    if (this.stages === 1) return true;
    const left = this.#left.filter((host) => includesHost(hosts, host));
    if (left.length === 0) return false;
    this.#left = left;
    return true;
  }

  /** The same, on the one host. */
  only(origin: Origin): Origin {
    return this.stages === 1 ? origin : { ...origin, hosts: this.#left.slice(0, 1) };
  }
}
