import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PublicKeyAuthMethod } from 'ssh2';
import { exec } from '../../host/os/exec.ts';
import { CertClient, keyWithCertificate } from '../../host/ssh/cert-client.ts';
import { CERTIFICATE_FILE, KEY_FILE, KNOWN_HOSTS_FILE } from '../../host/ssh/credentials.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';

/** Plain tools on the same guest with the same certificate, as a baseline. */
export class PlainSsh {
  readonly #endpoint: SshEndpoint;
  readonly #credentials: string;
  readonly #socket: string;
  #client: CertClient | null = null;

  /**
   * @param credentials folder of the sandbox's key, certificate and known_hosts
   * @param scratch folder for the socket of ssh's ControlMaster
   */
  constructor(endpoint: SshEndpoint, credentials: string, scratch: string) {
    this.#endpoint = endpoint;
    this.#credentials = credentials;
    this.#socket = join(scratch, 'control');
  }

  /** Connects ssh2 and a ControlMaster of the system's ssh. */
  async open(): Promise<void> {
    const { address: host, port, user: username } = this.#endpoint;
    const key = keyWithCertificate(
      await readFile(join(this.#credentials, KEY_FILE)),
      await readFile(join(this.#credentials, CERTIFICATE_FILE), 'utf8'),
    );
    const client = new CertClient();
    const method: PublicKeyAuthMethod = { type: 'publickey', username, key };
    client.connect({ host, port, username, authHandler: [method] });
    await once(client, 'ready');
    this.#client = client;
    await exec('ssh', [...this.#options(), '-M', '-N', '-f', '-o', 'ControlPersist=yes', this.#target()]);
  }

  async close(): Promise<void> {
    this.#client?.end();
    await exec('ssh', [...this.#options(), '-O', 'exit', this.#target()]);
  }

  /** Runs `exec` on an open connection of ssh2, until its channel is closed. */
  async ssh2(command: string): Promise<void> {
    const client = this.#client;
    if (!client) throw new Error('PlainSsh has not been opened');
    await new Promise<void>((resolve, reject) => {
      client.exec(command, (error, channel) => {
        if (error) return reject(error);
        channel.on('close', () => resolve()).resume();
      });
    });
  }

  /** Runs the system's ssh through its ControlMaster. */
  async ssh(command: string): Promise<void> {
    await exec('ssh', [...this.#options(), this.#target(), command]);
  }

  /** Runs the system's sftp through the same ControlMaster: `put LOCAL REMOTE` or `get REMOTE LOCAL`. */
  async sftp(batch: string): Promise<void> {
    await exec('sftp', [...this.#options(), '-b', '-', this.#target()], { input: `${batch}\n`, timeoutMs: 300_000 });
  }

  #target(): string {
    return `${this.#endpoint.user}@${this.#endpoint.address}`;
  }

  #options(): string[] {
    const settings = {
      Port: this.#endpoint.port,
      IdentityFile: join(this.#credentials, KEY_FILE),
      UserKnownHostsFile: join(this.#credentials, KNOWN_HOSTS_FILE),
      StrictHostKeyChecking: 'yes',
      BatchMode: 'yes',
      ControlPath: this.#socket,
    };
    return ['-F', 'none', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])];
  }
}
