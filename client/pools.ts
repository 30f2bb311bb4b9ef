import type { PoolRecord, PoolWish } from '../model/pools/pool.ts';
import type { Page, WaitOptions } from './http/options.ts';
import { prefer } from './http/paths.ts';
import type { CallOptions, Transport } from './http/transport.ts';

/** What a pool keeps ready; what is left out is as its source has it, and without the internet. */
export type PoolSettings = Pick<PoolWish, 'source' | 'min' | 'max'> & {
  cpus?: number;
  memoryMib?: number;
  egress?: PoolWish['egress'];
  /** For all projects: only operators may. `@default` false */
  shared?: boolean;
};

/** Which of two that may be called alike. */
export interface PoolOptions {
  /** The one that all projects share: only operators see it. `@default` false: that of the project of the key */
  shared?: boolean;
}

/** A member that nobody has claimed. */
export interface PoolMemberState {
  sandboxId: string;
  state: string;
  hostId: string | null;
  warmAt: string | null;
}

export interface Pool extends Omit<PoolRecord, 'revision' | 'refills' | 'idle'> {
  /** All projects share it. */
  shared: boolean;
  members: PoolMemberState[];
  /** Memory that its members held while they were ready and nobody had claimed them. */
  idleMibHours: number;
}

const ALL = '/v1/pools';

/** Sandboxes that are kept ready for whoever asks for such. Throws as {@link MayflyClient} does. */
export class Pools {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Makes it, or changes it. When what its members are is changed, none of before is claimed once this returns. */
  set(name: string, settings: PoolSettings, options: CallOptions = {}): Promise<Pool> {
    return this.#transport.json({ method: 'PUT', path: pathOf(name), body: settings }, options);
  }

  list(options: CallOptions = {}): Promise<Page<Pool>> {
    return this.#transport.json({ method: 'GET', path: ALL }, options);
  }

  get(name: string, options: PoolOptions & CallOptions = {}): Promise<Pool> {
    return this.#transport.json({ method: 'GET', path: pathOf(name, options) }, options);
  }

  /** Returns it: `deleted`, each member with its proof, or `deleting` when the wait was over first. */
  delete(name: string, options: PoolOptions & WaitOptions & CallOptions = {}): Promise<Pool> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: pathOf(name, options), headers }, options);
  }
}

function pathOf(name: string, { shared = false }: PoolOptions = {}): string {
  return `${ALL}/${encodeURIComponent(name)}${shared ? '?project=-' : ''}`;
}
