import { WireReader } from './wire.ts';

/**
 * Returns the end of a certificate's validity, milliseconds since 1970.
 * @param line an OpenSSH certificate of an Ed25519 key @throws Error when it is not one
 */
export function validBefore(line: string): number {
  const reader = new WireReader(Buffer.from(line.trim().split(/\s+/)[1] ?? '', 'base64'));
  try {
    // PROTOCOL.certkeys of OpenSSH: type, nonce, public key; serial and type; key id, principals; valid after
    for (let strings = 0; strings < 3; strings++) reader.string();
    reader.take(8 + 4);
    for (let strings = 0; strings < 2; strings++) reader.string();
    reader.take(8);
    return Number(reader.take(8).readBigUInt64BE()) * 1000; // "for ever" is 2^64 − 1
  } catch (cause) {
    throw new Error('What is stored as a certificate cannot be read as one.', { cause });
  }
}
