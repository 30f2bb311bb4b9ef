import { Resource } from '../http/resource.ts';

/** Certificates of sandboxes. */
export class Credentials extends Resource {
  readonly issue = this.send('POST /v1/sandboxes/{id}/credentials');
  readonly list = this.ask('GET /v1/sandboxes/{id}/credentials');
  /** Revokes by serial or key id. `refusedAt` is set when the guest was verified to refuse the certificate. */
  readonly revoke = this.ask('DELETE /v1/sandboxes/{id}/credentials/{credential}');
  /** Revokes all certificates of callers. */
  readonly revokeAll = this.ask('DELETE /v1/sandboxes/{id}/credentials');
}
