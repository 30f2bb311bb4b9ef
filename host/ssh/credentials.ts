import { chmod, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import ssh2, { type ParsedKey } from 'ssh2';
import { MayflyError } from '../../model/errors.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Mark } from '../hypervisor.ts';
import { toObservation } from '../observation.ts';
import { orAbsent } from '../os/absent.ts';
import { flush, writeFileAtomic, writeFileSynced } from '../os/atomic-file.ts';
import { entriesOf } from '../os/directory.ts';
import type { StateDir } from '../state-dir.ts';
import { keyWithCertificate } from './cert-client.ts';
import { validBefore } from './certificate-validity.ts';
import { makeKeyPair } from './key-pair.ts';

/** File names of OpenSSH's own conventions, so `ssh -i <dir>/id_ed25519` finds the certificate by itself. */
export const KEY_FILE = 'id_ed25519';
export const CERTIFICATE_FILE = 'id_ed25519-cert.pub';
const PUBLIC_KEY_FILE = 'id_ed25519.pub';
export const KNOWN_HOSTS_FILE = 'known_hosts';

/** Shortest remaining validity of a certificate used for a login, ms. */
const RENEW_BEFORE_MS = 30_000;
const CERTIFICATE_LINE = /^ssh-ed25519-cert-v01@openssh\.com [A-Za-z0-9+/]+={0,2}(?: [\x20-\x7e]*)?\n?$/;

/**
 * Key pairs with which this machine logs in to its sandboxes, one folder (0700) each. A private key is made here and
 * never leaves; only its public key travels to be signed.
 */
export class Credentials {
  constructor(private readonly state: StateDir) {}

  async open(): Promise<void> {
    await mkdir(this.state.credentials, { recursive: true, mode: 0o700 });
    await chmod(this.state.credentials, 0o700);
  }

  /** Returns the folder of one sandbox's credentials. @throws RangeError when not given a sandbox id */
  directory(sandboxId: string): string {
    return this.state.credentialsOf(sandboxId);
  }

  /** Makes the key pair when it is missing, atomically. */
  async makeCredentials(sandboxId: string): Promise<{ publicKey: string }> {
    const directory = this.directory(sandboxId);
    const present = await readPublicKey(directory);
    if (present !== null) return { publicKey: present };

    const staging = `${directory}.new`;
    await rm(staging, { recursive: true, force: true });
    await rm(directory, { recursive: true, force: true });
    await mkdir(staging, { mode: 0o700 });
    const pair = makeKeyPair(sandboxId);
    await Promise.all([
      writeFileSynced(join(staging, KEY_FILE), pair.privateKey, 0o600, 'wx'),
      writeFileSynced(join(staging, PUBLIC_KEY_FILE), `${pair.publicKey}\n`, 0o644, 'wx'),
    ]);
    await flush(staging);
    await rename(staging, directory);
    await flush(this.state.credentials);
    return { publicKey: pair.publicKey };
  }

  /** Returns the public key of an existing pair, or null. */
  async publicKey(sandboxId: string): Promise<string | null> {
    return readPublicKey(this.directory(sandboxId));
  }

  /**
   * Returns the key with a valid certificate; null without a key.
   * @param renew requests a certificate for the existing key, and returns its line
   */
  async currentKey(id: string, renew: () => Promise<string>): Promise<ParsedKey | null> {
    const directory = this.directory(id);
    const privateKey = await orAbsent(readFile(join(directory, KEY_FILE)));
    if (privateKey === null) return null;
    let certificate = await orAbsent(readFile(join(directory, CERTIFICATE_FILE), 'utf8'));
    if (certificate === null || validBefore(certificate) - Date.now() < RENEW_BEFORE_MS) {
      certificate = await renew();
      await this.storeCertificate(id, certificate);
    }
    return keyWithCertificate(privateKey, certificate);
  }

  /**
   * Replaces the certificate. @param certificate one line in OpenSSH format, as `ssh-keygen -s` writes it
   * @throws MayflyError internal when it is not an Ed25519 user certificate line
   */
  async storeCertificate(sandboxId: string, certificate: string): Promise<void> {
    if (!CERTIFICATE_LINE.test(certificate)) {
      throw new MayflyError('internal', `What was to be stored as the certificate of ${sandboxId} is not one.`);
    }
    await writeFileAtomic(join(this.directory(sandboxId), CERTIFICATE_FILE), `${certificate.trimEnd()}\n`, 0o644);
  }

  /** Writes `known_hosts`, so that an operator's `ssh` pins the same host key. */
  async storeKnownHost(sandboxId: string, endpoint: SshEndpoint): Promise<void> {
    // Port 22 is looked up by the bare address: put_host_port() in OpenSSH's misc.c.
    const host = endpoint.port === 22 ? endpoint.address : `[${endpoint.address}]:${endpoint.port}`;
    const line = `${host} ${endpoint.hostKey.trim()}\n`;
    await writeFileAtomic(join(this.directory(sandboxId), KNOWN_HOSTS_FILE), line, 0o644);
  }

  async removeCredentials(sandboxId: string): Promise<void> {
    const directory = this.directory(sandboxId);
    await rm(`${directory}.new`, { recursive: true, force: true });
    await rm(directory, { recursive: true, force: true });
    await flush(this.state.credentials);
  }

  async look(sandboxId: string): Promise<Observation> {
    const directory = this.directory(sandboxId);
    const found: string[] = [];
    for (const path of [directory, `${directory}.new`]) {
      const entries = await entriesOf(path);
      if (entries) found.push(`${path}: ${entries.length} files`);
    }
    return toObservation('credentials', directory, found);
  }

  async marks(): Promise<Mark[]> {
    const marks: Mark[] = [];
    for (const name of await readdir(this.state.credentials)) {
      const sandboxId = name.replace(/\.new$/, '');
      if (!isSandboxId(sandboxId)) continue;
      const path = join(this.state.credentials, name);
      marks.push({ sandboxId, observation: toObservation('credentials', path, [path]) });
    }
    return marks;
  }
}

/** Returns the public half, if both halves exist and belong together. */
async function readPublicKey(directory: string): Promise<string | null> {
  if (!(await entriesOf(directory))?.includes(KEY_FILE)) return null;
  const key = ssh2.utils.parseKey(await readFile(join(directory, KEY_FILE)));
  if (key instanceof Error) return null;
  return `${key.type} ${key.getPublicSSH().toString('base64')} ${key.comment}`.trimEnd();
}
