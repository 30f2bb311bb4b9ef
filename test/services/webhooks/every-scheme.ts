import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { signDelivery, verifySignature } from '../../../services/webhooks/signing/sign.ts';
import { newKeyPair, newSecret } from '../../../services/webhooks/signing/standard-key.ts';
import type { Header, Verdict } from '../../../services/webhooks/signing/verdict.ts';

/** Milliseconds since 1970. */
export const NOW = Date.UTC(2026, 10, 22, 12);
export const ID = 'msg_1';
export const BODY = Buffer.from('{"foo":"bar"}');

const PAIR = newKeyPair();
const OLD_PAIR = newKeyPair();

interface Example {
  name: string;
  scheme: SignatureScheme;
  /** Key that signs, at the sender. */
  secret: string;
  /** Key that verifies, at the receiver. */
  verifies: string;
  oldSecret: string;
  oldVerifies: string;
  /** True when the body is signed. */
  signs: boolean;
}

function example(name: string, scheme: SignatureScheme, secret: string, oldSecret: string, signs = true): Example {
  return { name, scheme, secret, verifies: secret, oldSecret, oldVerifies: oldSecret, signs };
}

const hmac = (change: object): SignatureScheme => ({
  scheme: 'hmac',
  header: 'X-Signature',
  prefix: '',
  encoding: 'hex',
  algorithm: 'sha256',
  ...change,
});

export const EXAMPLES: readonly Example[] = [
  example('v1', { scheme: 'standard-webhooks' }, newSecret(), newSecret()),
  {
    ...example('v1a', { scheme: 'standard-webhooks' }, PAIR.secretKey, OLD_PAIR.secretKey),
    verifies: PAIR.publicKey,
    oldVerifies: OLD_PAIR.publicKey,
  },
  example('github', { scheme: 'github' }, 'mysecret', 'oldsecret'),
  example('stripe', { scheme: 'stripe' }, newSecret(), newSecret()),
  example('hmac in hex', hmac({ prefix: 'v0=' }), 'mysecret', 'oldsecret'),
  example('hmac in base64', hmac({ encoding: 'base64', algorithm: 'sha512' }), 'mysecret', 'oldsecret'),
  example('hmac in base64url', hmac({ encoding: 'base64url', algorithm: 'sha1' }), 'mysecret', 'oldsecret'),
  example('hmac with a time', hmac({ timestampHeader: 'X-Timestamp' }), 'mysecret', 'oldsecret'),
  example('bearer', { scheme: 'bearer' }, 'mytoken-1', 'oldtoken-1', false),
  example('basic', { scheme: 'basic' }, 'user:päss:word', 'user:old', false),
];

export const named = (name: string): Example => {
  const found = EXAMPLES.find((one) => one.name === name);
  if (!found) throw new Error(`no example ${name}`);
  return found;
};

export function signed({ scheme, secret }: Example, body: Uint8Array = BODY, now = NOW): Header[] {
  return signDelivery(scheme, [secret], { id: ID, body, now });
}

export function verdict(
  { scheme, verifies }: Example,
  headers: readonly Header[],
  { body = BODY, now = NOW, secrets = [verifies] }: { body?: Uint8Array; now?: number; secrets?: string[] } = {},
): Verdict {
  return verifySignature(scheme, secrets, { headers, body, now });
}

/** Returns headers with one value changed. */
export function changed(headers: readonly Header[], name: string, change: (value: string) => string): Header[] {
  return headers.map(([given, value]) => [given, given === name ? change(value) : value]);
}
