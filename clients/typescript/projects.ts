import { Resource } from './http/resource.ts';

/** Tenants, for operators. */
export class Projects extends Resource {
  readonly create = this.send('POST /v1/projects');
  /** All projects, also deleted ones. */
  readonly list = this.ask('GET /v1/projects');
  /** Allowed to every key, for its own project. */
  readonly get = this.ask('GET /v1/projects/{id}');
  /** Allowed to every key, for its own project. */
  readonly usage = this.ask('GET /v1/projects/{id}/usage');
  readonly change = this.send('PATCH /v1/projects/{id}');
  /** Revokes its keys. Refused while the project has anything else. */
  readonly delete = this.ask('DELETE /v1/projects/{id}');
}
