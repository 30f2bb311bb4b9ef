import type { CompletedWaitpoint } from '../http/openapi.ts';
import { Resource } from '../http/resource.ts';
import type { PostOptions } from '../http/transport.ts';

/** Points at which processes of runs wait for data from outside. */
export class Waitpoints extends Resource {
  /**
   * Creates a waitpoint, unless the run has one of that name, and a new token for it.
   * @throws MayflyApiError run_has_ended, waitpoint_completed, waitpoint_expired, waitpoints_full
   */
  readonly create = this.send('POST /v1/runs/{id}/waitpoints');
  /** Waitpoints of a run, oldest first. */
  readonly list = this.ask('GET /v1/runs/{id}/waitpoints');
  readonly #complete = this.send('POST /v1/waitpoints/{token}');

  /**
   * Sends the data that the process waits for. Idempotent.
   * @throws MayflyApiError waitpoint_not_found, waitpoint_completed, waitpoint_expired
   */
  complete(token: string, data: unknown, options: PostOptions = {}): Promise<CompletedWaitpoint> {
    return this.#complete(token, { data }, options);
  }
}
