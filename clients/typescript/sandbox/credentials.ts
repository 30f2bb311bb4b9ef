import { Resource } from '../http/resource.ts';

/** Certificates of sandboxes. */
export class Credentials extends Resource {
  readonly issue = this.send('POST /v1/sandboxes/{id}/credentials');
  readonly list = this.ask('GET /v1/sandboxes/{id}/credentials');
  /** By serial or key id. `refusedAt` says whether the guest was seen to refuse the certificate. */
  readonly revoke = this.ask('DELETE /v1/sandboxes/{id}/credentials/{credential}');
  /** Revokes all that callers have. */
  readonly revokeAll = this.ask('DELETE /v1/sandboxes/{id}/credentials');
}
