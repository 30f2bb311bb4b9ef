import { link, lstat, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { syncDirectory } from '../host/atomic-file.ts';
import { isNotFound } from '../host/directory.ts';
import { exec } from '../host/exec.ts';
import { makeKeyPair } from '../host/ssh/key-pair.ts';
import { LIMITS } from '../model/limits.ts';
import { BACKDATE_SECONDS, type CertificateRequest, checkedSerial, checkedTtl, keyIdOf } from './certificate.ts';
import { parsePublicKey } from './public-key.ts';

const KEY_FILE = 'user_ca';
/** Public keys that guests shall trust beside the current one while the CA key is being changed. */
const ROTATION_FILES = ['user_ca_next.pub', 'user_ca_previous.pub'];

export interface Certificate {
  /** One line in OpenSSH format. */
  certificate: string;
  keyId: string;
  serial: bigint;
  /** ISO 8601, whole seconds. */
  validAfter: string;
  /** ISO 8601, whole seconds. */
  validBefore: string;
  /** Of the certified public key, as `ssh-keygen -lf` prints it. */
  fingerprint: string;
}

/** The user CA: whoever holds its key can log in to every sandbox, so it lives with the control worker alone. */
export class UserCa {
  readonly #keyPath: string;
  readonly #publicKeys: string[];

  private constructor(keyPath: string, publicKeys: string[]) {
    this.#keyPath = keyPath;
    this.#publicKeys = publicKeys;
  }

  /**
   * Opens the CA of a directory; makes its Ed25519 key when there is none.
   * @throws Error when the key can be read or written by others, belongs to another user, or is not an Ed25519 key
   */
  static async open(directory: string): Promise<UserCa> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const keyPath = join(directory, KEY_FILE);
    await createOnce(keyPath, directory);
    await checkPrivate(keyPath);
    const publicKeys = [await publicLineOf(keyPath)];
    for (const name of ROTATION_FILES) {
      const line = await readIfThere(join(directory, name));
      if (line !== null) publicKeys.push(parsePublicKey(line).line);
    }
    return new UserCa(keyPath, publicKeys);
  }

  /** The public key lines that guests are seeded to trust; the first is the one that signs. */
  publicKeys(): string[] {
    return [...this.#publicKeys];
  }

  /**
   * Signs a user certificate: principal is the sandbox id and nothing else, no extension but `permit-pty`, valid from
   * 60 s ago to `ttlSeconds` from now, to the second.
   * @throws MayflyError invalid_request, invalid_id
   * @throws ExecError when ssh-keygen fails
   */
  async sign(request: CertificateRequest): Promise<Certificate> {
    const key = parsePublicKey(request.publicKey);
    const keyId = keyIdOf(request);
    const serial = checkedSerial(request.serial);
    const ttlSeconds = checkedTtl(request.ttlSeconds ?? LIMITS.certificateSeconds.default);
    await checkPrivate(this.#keyPath);

    const now = Math.floor(Date.now() / 1000);
    const validAfter = now - BACKDATE_SECONDS;
    const validBefore = now + ttlSeconds;
    const scratch = await mkdtemp(join(tmpdir(), 'mayfly-sign-'));
    try {
      await writeFile(join(scratch, 'key.pub'), `${key.line}\n`, { mode: 0o600 });
      const validity = `${keygenTime(validAfter)}:${keygenTime(validBefore)}`;
      const subject = ['-I', keyId, '-n', request.sandboxId, '-z', serial.toString(), '-V', validity];
      const rights = ['-O', 'clear', '-O', 'permit-pty'];
      await exec('ssh-keygen', ['-q', '-s', this.#keyPath, ...subject, ...rights, join(scratch, 'key.pub')]);
      const certificate = (await readFile(join(scratch, 'key-cert.pub'), 'utf8')).trim();
      return {
        certificate,
        keyId,
        serial,
        validAfter: isoSeconds(validAfter),
        validBefore: isoSeconds(validBefore),
        fingerprint: key.fingerprint,
      };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

/** Two control workers may start at once: `link` lets exactly one key win, and it is whole when it appears. */
async function createOnce(keyPath: string, directory: string): Promise<void> {
  if ((await readIfThere(keyPath)) !== null) return;
  const scratch = await mkdtemp(join(directory, '.new-'));
  try {
    const candidate = join(scratch, KEY_FILE);
    const file = await open(candidate, 'wx', 0o600);
    try {
      await file.writeFile(makeKeyPair('mayfly-user-ca').privateKey);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(candidate, keyPath);
    await syncDirectory(directory);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function checkPrivate(keyPath: string): Promise<void> {
  const about = await lstat(keyPath);
  const mode = about.mode & 0o7777;
  const shown = mode.toString(8).padStart(4, '0');
  if (!about.isFile()) throw new Error(`The CA key ${keyPath} is not a regular file. Move the key itself there.`);
  if (mode !== 0o600 && mode !== 0o400) {
    throw new Error(
      `The CA key ${keyPath} has mode ${shown}; it opens every sandbox, so only 0600 and 0400 are accepted. ` +
        `If nobody else can have read it: chmod 600 ${keyPath}. Otherwise make a new key.`,
    );
  }
  if (about.uid !== process.getuid?.()) {
    throw new Error(`The CA key ${keyPath} belongs to uid ${about.uid}. Run Mayfly as that user, or chown the key.`);
  }
}

async function publicLineOf(keyPath: string): Promise<string> {
  const key = ssh2.utils.parseKey(await readFile(keyPath));
  if (key instanceof Error || !key.isPrivateKey() || key.type !== 'ssh-ed25519') {
    throw new Error(
      `${keyPath} is not an unencrypted Ed25519 private key in OpenSSH format. Restore it from a backup.`,
    );
  }
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/** `YYYYMMDDHHMMSSZ`, ssh-keygen(1) -V: UTC, so that the machine's time zone has no say. */
function keygenTime(unixSeconds: number): string {
  return isoSeconds(unixSeconds).replace(/[-:T]/g, '');
}

function isoSeconds(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
