import type { CallOptions } from '../http/deadline.ts';
import type { CompletedWaitpoint, Hook } from '../http/openapi.ts';
import { Resource } from '../http/resource.ts';
import type { PostOptions } from '../http/transport.ts';

/** Endpoints for signed events from outside. */
export class Hooks extends Resource {
  readonly create = this.send('POST /v1/hooks');
  /** Those of a function, the oldest first. */
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

/** Points at which processes of runs wait for data from outside. */
export class Waitpoints extends Resource {
  /**
   * Creates one unless the run has one of that name, and a new token for it.
   * @throws MayflyApiError run_has_ended, waitpoint_completed, waitpoint_expired, waitpoints_full
   */
  readonly create = this.send('POST /v1/runs/{id}/waitpoints');
  /** Those of a run, the oldest first. */
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

/** Times at which functions run. */
export class Schedules extends Resource {
  /** Creates a schedule, or replaces all settings of the one of that name. */
  readonly set = this.send('PUT /v1/schedules/{name}');
  /** By name. */
  readonly list = this.ask('GET /v1/schedules');
  readonly get = this.ask('GET /v1/schedules/{name}');
  /** Runs that it has started go on. */
  readonly delete = this.ask('DELETE /v1/schedules/{name}');
  readonly pause = this.ask('POST /v1/schedules/{name}/pause');
  readonly resume = this.ask('POST /v1/schedules/{name}/resume');
  /** Has it fire now. */
  readonly trigger = this.send('POST /v1/schedules/{name}/trigger');
  /** Runs times of the past that were missed, at most 500. */
  readonly backfill = this.send('POST /v1/schedules/{name}/backfill');
  readonly next = this.ask('GET /v1/schedules/{name}/next');
  /** Outcomes of its times, the newest first. */
  readonly times = this.ask('GET /v1/schedules/{name}/times');
}
