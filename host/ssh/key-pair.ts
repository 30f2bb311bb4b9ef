import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { sshString, uint32 } from './wire.ts';

const TYPE = 'ssh-ed25519';
/** Block size of the cipher `none` (PROTOCOL.key of OpenSSH). Bytes. */
const BLOCK_BYTES = 8;
const LINE_CHARACTERS = 70;

export interface KeyPair {
  /** OpenSSH public key, one line without a newline. */
  publicKey: string;
  privateKey: string;
}

/**
 * Makes a key pair without ssh-keygen and without ssh2's generator: 1.17 drops leading zero bytes, so OpenSSH cannot
 * load one key in 128. @param comment stands in both halves; one word
 */
export function makeKeyPair(comment: string): KeyPair {
  return keyPairFrom(generateKeyPairSync('ed25519').privateKey, comment);
}

/** Encodes an Ed25519 private key in OpenSSH's format (PROTOCOL.key of OpenSSH; RFC 8709 §4). */
export function keyPairFrom(privateKey: KeyObject, comment: string): KeyPair {
  const jwk = privateKey.export({ format: 'jwk' });
  const seed = Buffer.from(jwk.d ?? '', 'base64url');
  const point = Buffer.from(jwk.x ?? '', 'base64url');
  const publicBlob = Buffer.concat([sshString(TYPE), sshString(point)]);
  const check = randomBytes(4);
  const secret = Buffer.concat([check, check, publicBlob, sshString(Buffer.concat([seed, point])), sshString(comment)]);
  const padding = Buffer.from(
    Array.from({ length: (BLOCK_BYTES - (secret.length % BLOCK_BYTES)) % BLOCK_BYTES }, (_, i) => i + 1),
  );
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    sshString('none'),
    sshString('none'),
    sshString(''),
    uint32(1),
    sshString(publicBlob),
    sshString(Buffer.concat([secret, padding])),
  ]);
  return { publicKey: `${TYPE} ${publicBlob.toString('base64')} ${comment}`, privateKey: toArmor(body) };
}

function toArmor(body: Buffer): string {
  const lines = body.toString('base64').match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g')) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
}
