import { randomBytes } from 'node:crypto';
import ssh2 from 'ssh2';
import { sshString, uint32, WireReader } from '../host/ssh/wire.ts';
import { fingerprintOf, type PublicKey } from './public-key.ts';

interface CertifiedUser {
  key: PublicKey;
  serial: bigint;
  keyId: string;
  /** Only principal. */
  principal: string;
  /** Seconds since 1970, like {@link validBefore}. */
  validAfter: number;
  validBefore: number;
  /** Names of extensions without a value, in alphabetical order. */
  extensions: readonly string[];
}

/** SSH2_CERT_TYPE_USER of OpenSSH. */
const USER = 1;
const NONCE_BYTES = 32;

/**
 * Signs a certificate in OpenSSH's format (PROTOCOL.certkeys).
 * @param caKey Ed25519 private key in OpenSSH format
 * @returns its line, and the fingerprint of the key that signed it
 */
export function signUserCertificate(caKey: Buffer, user: CertifiedUser): { certificate: string; signedBy: string } {
  const ca = ssh2.utils.parseKey(caKey);
  if (ca instanceof Error || !ca.isPrivateKey() || ca.type !== 'ssh-ed25519') {
    throw new Error('the CA key is not an unencrypted Ed25519 private key in OpenSSH format');
  }
  const type = `${user.key.type}-cert-v01@openssh.com`;
  const signer = ca.getPublicSSH();
  const signed = Buffer.concat([contentOf(type, user), sshString(signer)]);
  const signature = ca.sign(signed);
  if (signature instanceof Error) throw signature;
  const wrapped = Buffer.concat([sshString(ca.type), sshString(signature)]);
  const blob = Buffer.concat([signed, sshString(wrapped)]);
  return { certificate: `${type} ${blob.toString('base64')}`, signedBy: fingerprintOf(signer) };
}

/** Returns all fields from the first to the reserved one. */
function contentOf(type: string, user: CertifiedUser): Buffer {
  const { key, serial, keyId, principal, validAfter, validBefore, extensions } = user;
  const options = extensions.map((name) => Buffer.concat([sshString(name), sshString('')]));
  return Buffer.concat([
    sshString(type),
    sshString(randomBytes(NONCE_BYTES)),
    partsOf(key),
    uint64(serial),
    uint32(USER),
    sshString(keyId),
    sshString(sshString(principal)),
    uint64(BigInt(validAfter)),
    uint64(BigInt(validBefore)),
    sshString(''), // critical options
    sshString(Buffer.concat(options)),
    sshString(''), // reserved
  ]);
}

/** Returns the fields of a public key's blob after its type, which follow the nonce in a certificate. */
function partsOf({ line }: PublicKey): Buffer {
  const blob = Buffer.from(line.split(' ')[1] ?? '', 'base64');
  const reader = new WireReader(blob);
  return blob.subarray(reader.string().length + 4);
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}
