/** Type, nonce, public key; then serial, type; then key id and principals (PROTOCOL.certkeys of OpenSSH, for Ed25519). */
const STRINGS_BEFORE_SERIAL = 3;
const SERIAL_AND_TYPE_BYTES = 12;
const STRINGS_BEFORE_VALIDITY = 2;

/**
 * When a certificate stops being valid, milliseconds since 1970.
 * @param line an OpenSSH certificate of an Ed25519 key
 * @throws Error when it is not one
 */
export function validBefore(line: string): number {
  const blob = Buffer.from(line.trim().split(/\s+/)[1] ?? '', 'base64');
  try {
    const serial = afterStrings(blob, 0, STRINGS_BEFORE_SERIAL);
    const validity = afterStrings(blob, serial + SERIAL_AND_TYPE_BYTES, STRINGS_BEFORE_VALIDITY);
    // "for ever" is 2^64 − 1
    return Number(blob.readBigUInt64BE(validity + 8)) * 1000;
  } catch (cause) {
    throw new Error('What is stored as a certificate cannot be read as one.', { cause });
  }
}

function afterStrings(blob: Buffer, from: number, count: number): number {
  let at = from;
  for (let i = 0; i < count; i++) at += 4 + blob.readUInt32BE(at);
  return at;
}
