import { readFile } from 'node:fs/promises';
import { LIMITS } from '../model/limits.ts';
import { assertSerial, assertTtl, BACKDATE_SECONDS, type CertificateRequest, formatKeyId } from './certificate.ts';
import { assertPrivate, createCaKey, ensureKey } from './key-file.ts';
import { fingerprintOf, parsePublicKey } from './public-key.ts';
import { createRevocationList, type Revoked } from './revocation-list.ts';
import { readKeys, signingKeyPath } from './rotation.ts';
import { signUserCertificate } from './user-certificate.ts';

interface Certificate {
  certificate: string;
  keyId: string;
  serial: bigint;
  /** ISO 8601, whole seconds. */
  validAfter: string;
  /** ISO 8601, whole seconds. */
  validBefore: string;
  /** Fingerprint of the certified public key, as `ssh-keygen -lf` prints it. */
  fingerprint: string;
  signedBy: string;
}

/** Extensions of a certificate, its only rights besides logging in. */
const RIGHTS = ['permit-pty'];

/** Trust settings of guests: the CAs that sign certificates, and the revoked certificates. */
interface Trust {
  /** OpenSSH public key lines. The first is the one that signs. */
  userCaKeys: string[];
  /** OpenSSH key revocation list, base64; empty for none. */
  revokedKeys: string;
}

/**
 * User CA. Its key opens every sandbox, so only the control worker has it. Keys are read from the folder each time, so
 * that `mayfly ca rotate` takes effect with the next call.
 */
export class UserCa {
  private constructor(private readonly directory: string) {}

  /**
   * Opens the CA of a directory; creates its Ed25519 key if missing.
   * @throws Error when the key can be read or written by others, belongs to another user, or is not an Ed25519 key
   */
  static async open(directory: string): Promise<UserCa> {
    const path = signingKeyPath(directory);
    await ensureKey(path, createCaKey);
    await assertPrivate(path);
    await readKeys(directory);
    return new UserCa(directory);
  }

  /** Returns the public key lines that guests are seeded to trust; the first is the one that signs. */
  async publicKeys(): Promise<string[]> {
    const { current, next, previous } = await readKeys(this.directory);
    return [current, next, previous].filter((key) => key !== null);
  }

  /** @returns fingerprint of the key that signs now */
  async signingKey(): Promise<string> {
    const { current } = await readKeys(this.directory);
    return fingerprintOf(Buffer.from(current.split(' ')[1] ?? '', 'base64'));
  }

  /** Returns the trust settings for guests with these revoked certificates. */
  async trust(revoked: readonly Revoked[]): Promise<Trust> {
    const userCaKeys = await this.publicKeys();
    return { userCaKeys, revokedKeys: await createRevocationList(userCaKeys, revoked) };
  }

  /**
   * Signs a certificate with the sandbox id as only principal and `permit-pty` as only extension, valid from {@link
   * BACKDATE_SECONDS} ago.
   * @throws MayflyError invalid_request, invalid_id, public_key_refused
   */
  async sign(request: CertificateRequest): Promise<Certificate> {
    const key = parsePublicKey(request.publicKey);
    const keyId = formatKeyId(request);
    const serial = assertSerial(request.serial);
    const ttlSeconds = assertTtl(request.ttlSeconds ?? LIMITS.certificateSeconds.default);
    const caKey = signingKeyPath(this.directory);
    await assertPrivate(caKey);

    const now = Math.floor(Date.now() / 1000);
    const validAfter = now - BACKDATE_SECONDS;
    const validBefore = now + ttlSeconds;
    const user = { key, serial, keyId, principal: request.sandboxId, validAfter, validBefore, extensions: RIGHTS };
    return {
      ...signUserCertificate(await readFile(caKey), user),
      keyId,
      serial,
      validAfter: isoSeconds(validAfter),
      validBefore: isoSeconds(validBefore),
      fingerprint: key.fingerprint,
    };
  }
}

function isoSeconds(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
