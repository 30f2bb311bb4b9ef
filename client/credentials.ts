import type { CertificateRecord, IssuedCertificate } from '../model/sandbox/certificate.ts';
import type { SshEndpoint } from '../model/sandbox/sandbox.ts';
import type { Page, WaitOptions } from './http/options.ts';
import { prefer, sandboxPath } from './http/paths.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

export interface IssueCredential {
  /** One OpenSSH public key line; the private key stays where it is. */
  publicKey: string;
  /** From now, to the second. `@default` 1800 */
  ttlSeconds?: number;
}

/** A certificate, and where it opens what. */
export interface IssuedCredential extends IssuedCertificate, SshEndpoint {
  /** The sandbox's id. */
  principal: string;
  /** A line for known_hosts. */
  knownHosts: string;
}

/** A certificate as the API shows it later. */
export type Credential = CertificateRecord;

/** Certificates of sandboxes. Throws as {@link MayflyClient} does. */
export class Credentials {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  issue(sandboxId: string, request: IssueCredential, options: PostOptions = {}): Promise<IssuedCredential> {
    return this.#transport.json({ method: 'POST', path: pathOf(sandboxId), body: request }, options);
  }

  list(sandboxId: string, options: CallOptions = {}): Promise<Page<Credential>> {
    return this.#transport.json({ method: 'GET', path: pathOf(sandboxId) }, options);
  }

  /** @param credential serial or key id. Its `refusedAt` says whether the guest was seen to refuse it yet. */
  revoke(sandboxId: string, credential: string, options: WaitOptions & CallOptions = {}): Promise<Credential> {
    const path = `${pathOf(sandboxId)}/${encodeURIComponent(credential)}`;
    return this.#transport.json({ method: 'DELETE', path, headers: prefer(options.waitSeconds) }, options);
  }

  /** Revokes all that callers have. */
  revokeAll(sandboxId: string, options: WaitOptions & CallOptions = {}): Promise<Page<Credential>> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: pathOf(sandboxId), headers }, options);
  }
}

function pathOf(sandboxId: string): string {
  return `${sandboxPath(sandboxId)}/credentials`;
}
