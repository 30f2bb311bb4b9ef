import type { CallOptions } from '../http/deadline.ts';
import type { Hook } from '../http/openapi.ts';
import { Resource } from '../http/resource.ts';

/** Endpoints for signed events from outside. */
export class Hooks extends Resource {
  readonly create = this.send('POST /v1/hooks');
  /** Hooks of a function, oldest first. */
  readonly list = this.ask('GET /v1/hooks');
  readonly get = this.ask('GET /v1/hooks/{id}');
  /** The API answers for a disabled hook as if it did not exist. */
  readonly disable = this.ask('POST /v1/hooks/{id}/disable');
  readonly enable = this.ask('POST /v1/hooks/{id}/enable');
  readonly delete = this.ask('DELETE /v1/hooks/{id}');
  readonly #setSecrets = this.send('PUT /v1/hooks/{id}/secrets');

  /** Replaces its secrets: two while one is rotated, then the new one alone. */
  setSecrets(id: string, secrets: string[], options: CallOptions = {}): Promise<Hook> {
    return this.#setSecrets(id, { secrets }, options);
  }
}
