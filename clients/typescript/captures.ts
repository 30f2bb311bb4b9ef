import { Resource } from './http/resource.ts';

/** Copies of running sources. */
export class Captures extends Resource {
  /** Returns the record: `ready`, or `creating` when the wait ended first. */
  readonly take = this.send('POST /v1/sources/{name}/captures');
  /** Newest first, of all hosts. */
  readonly list = this.ask('GET /v1/sources/{name}/captures');
  readonly get = this.ask('GET /v1/captures/{id}');
  /** Returns the record: `deleted`, or `deleting` when the wait ended first. */
  readonly delete = this.ask('DELETE /v1/captures/{id}');
}
