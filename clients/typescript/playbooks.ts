import type { CallOptions } from './http/deadline.ts';
import { bytesOf, Resource } from './http/resource.ts';

/** Changes in sandboxes, as Ansible playbooks. */
export class Playbooks extends Resource {
  /** Returns when it has started. */
  readonly write = this.send('POST /v1/sandboxes/{id}/playbook');
  /** Newest first. */
  readonly list = this.ask('GET /v1/playbooks');
  readonly get = this.ask('GET /v1/playbooks/{id}');
  /** Returns when Temporal has the request. */
  readonly cancel = this.ask('POST /v1/playbooks/{id}/cancel');

  /** Returns a tar archive of playbook.yml, the files that it needs, and report.md. */
  async archive(id: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const path = `/v1/playbooks/${encodeURIComponent(id)}/archive`;
    return bytesOf(await this.transport.open({ method: 'GET', path }, signal), this.transport, signal);
  }
}
