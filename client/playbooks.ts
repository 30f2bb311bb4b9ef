import type { CheckSummary, PlaybookRecord, WrittenSummary } from '../model/playbook/playbook.ts';
import type { Network } from '../model/sandbox/sandbox.ts';
import { bytesOf } from './http/content.ts';
import type { Page, PageOptions } from './http/options.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

/** A path, as Git quotes it, and why the playbook does not bring it about. */
export interface PlaybookLeft {
  path: string;
  why: string;
}

/** A playbook as the API shows it. */
export interface Playbook extends Omit<PlaybookRecord, 'written' | 'check' | 'failure'> {
  written: (Omit<WrittenSummary, 'left'> & { left: PlaybookLeft[] }) | null;
  check: (Omit<CheckSummary, 'left' | 'beyond'> & { left: PlaybookLeft[]; beyond: string[] }) | null;
  failure: { code: string; message: string } | null;
}

export interface WritePlaybook {
  /** A snapshot: what changed since that. `@default` since the sandbox began */
  from?: string;
  /** What the fresh sandbox can reach. `@default` what the sandbox can */
  network?: Pick<Network, 'egress'>;
}

/** What changed in sandboxes, as Ansible playbooks. Throws as {@link MayflyClient} does. */
export class Playbooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns when it is begun. */
  write(sandboxId: string, request: WritePlaybook = {}, options: PostOptions = {}): Promise<Playbook> {
    const path = `/v1/sandboxes/${encodeURIComponent(sandboxId)}/playbook`;
    return this.#transport.json({ method: 'POST', path, body: request }, options);
  }

  /** Newest first. */
  list({ limit, cursor, ...options }: PageOptions = {}): Promise<Page<Playbook>> {
    return this.#transport.json({ method: 'GET', path: '/v1/playbooks', query: { limit, cursor } }, options);
  }

  get(id: string, options: CallOptions = {}): Promise<Playbook> {
    return this.#transport.json({ method: 'GET', path: pathOf(id) }, options);
  }

  /** playbook.yml, what it needs beside it, and report.md: a tar archive. */
  async archive(id: string, options: CallOptions = {}): Promise<Uint8Array> {
    const response = await this.#transport.open({ method: 'GET', path: `${pathOf(id)}/archive` }, options.signal);
    return bytesOf(response, this.#transport, options.signal);
  }

  /** Returns when Temporal has the wish. */
  cancel(id: string, options: PostOptions = {}): Promise<Playbook> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(id)}/cancel` }, options);
  }
}

function pathOf(id: string): string {
  return `/v1/playbooks/${encodeURIComponent(id)}`;
}
