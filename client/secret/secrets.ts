import type { SecretVersion } from '../../model/secrets/secret.ts';
import type { CallOptions, Transport } from '../http/transport.ts';

/** A secret as the API shows it: never what it is. */
export interface Secret {
  project: string;
  name: string;
  /** The newest: attempts that begin from now on are given it. */
  version: number;
  /** Whether `***` stands in its place in what its functions print. */
  isMasked: boolean;
  /** Why it is not. */
  warnings: string[];
  createdAt: string;
  updatedAt: string;
}

export interface SecretDetail extends Secret {
  /** The newest first, at most 100. */
  versions: SecretVersion[];
  /** Which run was given which version: the newest first, at most 100. */
  uses: { version: number; runId: string; attempt: number; at: string }[];
}

const ALL = '/v1/secrets';

/** Secrets of a project, which its functions name. Throws as {@link MayflyClient} does. */
export class Secrets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Puts a value, of at most 64 KiB, in the place of what was there: it is the next version. */
  put(name: string, value: string, options: CallOptions = {}): Promise<Secret> {
    return this.#transport.json({ method: 'PUT', path: pathOf(name), body: { value } }, options);
  }

  /** By name. */
  list(options: CallOptions = {}): Promise<{ items: Secret[] }> {
    return this.#transport.json({ method: 'GET', path: ALL }, options);
  }

  get(name: string, options: CallOptions = {}): Promise<SecretDetail> {
    return this.#transport.json({ method: 'GET', path: pathOf(name) }, options);
  }

  /** Runs whose function names it are not started any more. */
  async delete(name: string, options: CallOptions = {}): Promise<void> {
    await this.#transport.json<undefined>({ method: 'DELETE', path: pathOf(name) }, options);
  }
}

function pathOf(name: string): string {
  return `${ALL}/${encodeURIComponent(name)}`;
}
