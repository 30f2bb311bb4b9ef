import { Resource } from '../http/resource.ts';

/** Times at which functions run. */
export class Schedules extends Resource {
  /** Creates a schedule, or replaces all settings of the one of that name. */
  readonly set = this.send('PUT /v1/schedules/{name}');
  /** By name. */
  readonly list = this.ask('GET /v1/schedules');
  readonly get = this.ask('GET /v1/schedules/{name}');
  /** Deletes a schedule. Runs that it has started continue. */
  readonly delete = this.ask('DELETE /v1/schedules/{name}');
  readonly pause = this.ask('POST /v1/schedules/{name}/pause');
  readonly resume = this.ask('POST /v1/schedules/{name}/resume');
  /** Fires it now. */
  readonly trigger = this.send('POST /v1/schedules/{name}/trigger');
  /** Runs missed times of the past, at most 500. */
  readonly backfill = this.send('POST /v1/schedules/{name}/backfill');
  readonly next = this.ask('GET /v1/schedules/{name}/next');
  /** Outcomes of its times, the newest first. */
  readonly times = this.ask('GET /v1/schedules/{name}/times');
}
