import { fingerprintOf } from './public-key.ts';
import { WireReader } from './wire.ts';

const SUFFIX = '-cert-v01@openssh.com';
/** Fields of the public key between nonce and serial (PROTOCOL.certkeys of OpenSSH). */
const KEY_FIELDS = new Map([
  ['ssh-ed25519', 1],
  ['ssh-rsa', 2],
  ['ecdsa-sha2-nistp256', 2],
  ['ecdsa-sha2-nistp384', 2],
  ['ecdsa-sha2-nistp521', 2],
]);
/** Serial (8), kind (4), and after the two strings between: valid after (8), valid before (8). Bytes. */
const SERIAL_AND_KIND = 12;
const VALIDITY = 16;

/** The fingerprint of the CA key that signed a certificate line. @throws Error when it is no certificate we could have made */
export function signerOf(certificate: string): string {
  const [, base64 = ''] = certificate.split(' ');
  const reader = new WireReader(Buffer.from(base64, 'base64'));
  const type = reader.string().toString('latin1');
  const keyFields = type.endsWith(SUFFIX) ? KEY_FIELDS.get(type.slice(0, -SUFFIX.length)) : undefined;
  if (keyFields === undefined) throw new Error('what ssh-keygen wrote is not a certificate of a known kind');
  const nonceAndKey = 1 + keyFields;
  for (let i = 0; i < nonceAndKey; i++) reader.string();
  reader.take(SERIAL_AND_KIND);
  reader.string(); // key id
  reader.string(); // principals
  reader.take(VALIDITY);
  reader.string(); // critical options
  reader.string(); // extensions
  reader.string(); // reserved
  return fingerprintOf(reader.string());
}
