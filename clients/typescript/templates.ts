import { Resource } from './http/resource.ts';

/** Guests saved with their memory, which sandboxes wake from. */
export class Templates extends Resource {
  /** Returns when it has started, or exists: `building`, `verifying` or `ready`. */
  readonly make = this.send('POST /v1/templates');
  /** All but those in the state `gone`, newest first. */
  readonly list = this.ask('GET /v1/templates');
  readonly get = this.ask('GET /v1/templates/{id}');
  /** Returns the record: `gone`, or an earlier state when the wait ended first. */
  readonly delete = this.ask('DELETE /v1/templates/{id}');
}
