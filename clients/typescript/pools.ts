import type { Pool } from './http/openapi.ts';
import { type OptionsOf, Resource } from './http/resource.ts';

/** Choice between two pools of the same name. */
interface Shared {
  /** True for the pool that all projects share; for operators. `@default` false: that of the key's project */
  shared?: boolean;
}

/** Sandboxes that are kept ready to be claimed. */
export class Pools extends Resource {
  /** Creates or changes a pool. Members with other settings than these are not claimed once this returns. */
  readonly set = this.send('PUT /v1/pools/{name}');
  readonly list = this.ask('GET /v1/pools');
  readonly #get = this.ask('GET /v1/pools/{name}');
  readonly #delete = this.ask('DELETE /v1/pools/{name}');

  get(name: string, { shared, ...options }: Shared & OptionsOf<'GET /v1/pools/{name}'> = {}): Promise<Pool> {
    return this.#get(name, { ...options, ...(shared && { project: '-' }) });
  }

  /** Returns the pool: `deleted`, each member with its proof, or `deleting` when the wait ended first. */
  delete(name: string, { shared, ...options }: Shared & OptionsOf<'DELETE /v1/pools/{name}'> = {}): Promise<Pool> {
    return this.#delete(name, { ...options, ...(shared && { project: '-' }) });
  }
}
