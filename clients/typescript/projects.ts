import type { CallOptions } from './http/deadline.ts';
import type { Pool, Secret } from './http/openapi.ts';
import { type OptionsOf, Resource } from './http/resource.ts';

/** Tenants, for operators. */
export class Projects extends Resource {
  readonly create = this.send('POST /v1/projects');
  /** All, also deleted ones. */
  readonly list = this.ask('GET /v1/projects');
  /** For every key, of its own project. */
  readonly get = this.ask('GET /v1/projects/{id}');
  /** For every key, of its own project. */
  readonly usage = this.ask('GET /v1/projects/{id}/usage');
  readonly change = this.send('PATCH /v1/projects/{id}');
  /** Revokes its keys. Refused while the project has anything else. */
  readonly delete = this.ask('DELETE /v1/projects/{id}');
}

/** Secrets of a project, which its functions name. */
export class Secrets extends Resource {
  /** By name. */
  readonly list = this.ask('GET /v1/secrets');
  readonly get = this.ask('GET /v1/secrets/{name}');
  /** Runs whose function names it are not started from then on. */
  readonly delete = this.ask('DELETE /v1/secrets/{name}');
  readonly #put = this.send('PUT /v1/secrets/{name}');

  /** Sets a value of at most 64 KiB as the next version. */
  put(name: string, value: string, options: CallOptions = {}): Promise<Secret> {
    return this.#put(name, { value }, options);
  }
}

/** Which of two pools of the same name. */
interface Shared {
  /** The one that all projects share; for operators. `@default` false: that of the project of the key */
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

  /** Returns it: `deleted`, each member with its proof, or `deleting` when the wait was over first. */
  delete(name: string, { shared, ...options }: Shared & OptionsOf<'DELETE /v1/pools/{name}'> = {}): Promise<Pool> {
    return this.#delete(name, { ...options, ...(shared && { project: '-' }) });
  }
}
