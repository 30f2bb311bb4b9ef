import type { CallOptions } from './http/deadline.ts';
import type { Secret } from './http/openapi.ts';
import { Resource } from './http/resource.ts';

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
