import { createHash, createPublicKey } from 'node:crypto';
import { WireReader } from '../host/ssh/wire.ts';
import { MayflyError } from '../model/errors.ts';

export interface PublicKey {
  type: string;
  /** Type and base64 blob, without the comment. */
  line: string;
  /** Fingerprint as `ssh-keygen -lf` prints it: `SHA256:` and unpadded base64. */
  fingerprint: string;
}

const MAX_LINE_BYTES = 8_192;
/** Sizes of RSA keys; OpenSSH reads no larger ones: SSHBUF_MAX_BIGNUM in its sshbuf.h. */
const RSA_BITS = { min: 2_048, max: 16_384 };
const LINE = /^(?<type>[a-z0-9@.-]{1,64}) (?<blob>[A-Za-z0-9+/]{1,8000}={0,2})(?: [\x20-\x7e]*)?\n?$/;

/** Curves of the ECDSA types, with the length of an uncompressed point in bytes (RFC 5656 §3.1). */
const CURVES = new Map([
  ['ecdsa-sha2-nistp256', { curve: 'nistp256', crv: 'P-256', pointBytes: 65 }],
  ['ecdsa-sha2-nistp384', { curve: 'nistp384', crv: 'P-384', pointBytes: 97 }],
  ['ecdsa-sha2-nistp521', { curve: 'nistp521', crv: 'P-521', pointBytes: 133 }],
]);

const TYPES = new Set(['ssh-ed25519', ...CURVES.keys(), 'ssh-rsa']);

/**
 * Parses exactly one public key line, without options: Ed25519, ECDSA on the NIST curves, RSA from 2048 bits.
 * @throws MayflyError public_key_refused with the reason, without quoting the key
 */
export function parsePublicKey(text: string): PublicKey {
  if (Buffer.byteLength(text) > MAX_LINE_BYTES) throw refusedKeyError(`it is longer than ${MAX_LINE_BYTES} bytes`);
  const fields = LINE.exec(text)?.groups;
  const type = fields?.['type'];
  const base64 = fields?.['blob'];
  if (!type || !base64) throw refusedKeyError('it is not one line of `type base64 comment`');
  const blob = Buffer.from(base64, 'base64');
  if (blob.toString('base64') !== base64) throw refusedKeyError('its base64 is not canonical');

  if (!TYPES.has(type)) throw refusedKeyError(`its type is none of ${[...TYPES].join(', ')}`);
  const [inner, ...parts] = readSshStrings(blob);
  if (inner?.toString('latin1') !== type) throw refusedKeyError('its declared type differs from the type inside');
  checkParts(type, parts);
  return { type, line: `${type} ${base64}`, fingerprint: fingerprintOf(blob) };
}

/** Returns the fingerprint as `ssh-keygen -lf` prints it: `SHA256:` and unpadded base64. */
export function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

function checkParts(type: string, parts: Buffer[]): void {
  const [first, second] = parts;
  if (type === 'ssh-ed25519') {
    if (parts.length !== 1 || first?.length !== 32) throw refusedKeyError('an Ed25519 key has 32 bytes');
    return;
  }
  if (type === 'ssh-rsa') {
    if (parts.length !== 2 || !first || !second) throw refusedKeyError('an RSA key has an exponent and a modulus');
    if (bitLength(second) < RSA_BITS.min) throw refusedKeyError(`an RSA key needs at least ${RSA_BITS.min} bits`);
    if (bitLength(second) > RSA_BITS.max) throw refusedKeyError(`an RSA key may have ${RSA_BITS.max} bits`);
    if (bitLength(first) < 2 || bitLength(first) > 64) throw refusedKeyError('its RSA exponent is out of range');
    return;
  }
  const curve = CURVES.get(type);
  const wellFormed = curve && parts.length === 2 && first?.toString('latin1') === curve.curve && second?.[0] === 4;
  if (!wellFormed || second.length !== curve.pointBytes || !isOnCurve(curve.crv, second)) {
    throw refusedKeyError('its point is not one of that curve');
  }
}

/** @param point uncompressed: 0x04, then x and y of equal length */
function isOnCurve(crv: string, point: Buffer): boolean {
  const half = (point.length + 1) / 2;
  const [x, y] = [point.subarray(1, half).toString('base64url'), point.subarray(half).toString('base64url')];
  try {
    createPublicKey({ format: 'jwk', key: { kty: 'EC', crv, x, y } });
    return true;
  } catch {
    return false; // OpenSSL's message adds nothing
  }
}

function readSshStrings(blob: Buffer): Buffer[] {
  const reader = new WireReader(blob);
  const strings: Buffer[] = [];
  try {
    while (!reader.isAtEnd) strings.push(reader.string());
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw refusedKeyError('its blob is cut short');
  }
  return strings;
}

/** Returns the length of a positive mpint (RFC 4251 §5); 0 for a negative one. */
function bitLength(mpint: Buffer): number {
  if ((mpint[0] ?? 0x80) & 0x80) return 0;
  const firstByte = mpint.findIndex((byte) => byte !== 0);
  if (firstByte < 0) return 0;
  return (mpint.length - firstByte) * 8 - (Math.clz32(mpint[firstByte] ?? 0) - 24);
}

function refusedKeyError(why: string): MayflyError {
  return new MayflyError('public_key_refused', `The public key is not acceptable: ${why}.`, {
    fields: [{ field: 'publicKey', problem: why }],
  });
}
