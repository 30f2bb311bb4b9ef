import { describe, expect, test } from 'vitest';
import type { SignatureScheme } from '../../../model/webhooks/signature-scheme.ts';
import { secretProblem } from '../../../services/webhooks/signing/secret.ts';
import { signDelivery } from '../../../services/webhooks/signing/sign.ts';
import { newKeyPair, newSecret } from '../../../services/webhooks/signing/standard-key.ts';
import { BODY, EXAMPLES, ID, NOW, named, signed, verdict } from './every-scheme.ts';

const standard: SignatureScheme = { scheme: 'standard-webhooks' };
const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');

describe('secrets', () => {
  test('a new one has 32 bytes, is random, and is valid', () => {
    const secret = newSecret();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newSecret()).not.toBe(secret);
    const { secretKey, publicKey } = newKeyPair();
    expect(secretKey).toMatch(/^whsk_[A-Za-z0-9+/]{86}==$/);
    expect(publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    for (const one of [secret, secretKey, publicKey]) expect(secretProblem(standard, one)).toBeNull();
  });

  test.each([24, 32, 64])('whsec_ of %i bytes is valid', (bytes) => {
    expect(secretProblem(standard, `whsec_${base64(bytes)}`)).toBeNull();
  });

  test.each([
    [`whsec_${base64(23)}`, 'has 23 bytes behind whsec_, and needs 24 to 64'],
    [`whsec_${base64(65)}`, 'has 65 bytes behind whsec_, and needs 24 to 64'],
    ['whsec_', 'has 0 bytes behind whsec_, and needs 24 to 64'],
    ['whsec_not base64 at all, but long enough', 'has no base64 behind whsec_'],
    [`whsec_${base64(32).replace('=', '=\n')}`, 'has no base64 behind whsec_'],
    [`whpk_${base64(31)}`, 'has 31 bytes behind whpk_, and needs 32'],
    [`whsk_${base64(32)}`, 'has 32 bytes behind whsk_, and needs 64'],
    [`whsk_${base64(64)}`, 'holds the public key of another private key'],
    ['mysecret', 'does not begin with whsec_, whsk_ or whpk_'],
    [base64(32), 'does not begin with whsec_, whsk_ or whpk_'],
    ['constructor_AAAA', 'does not begin with whsec_, whsk_ or whpk_'],
    ['__proto__', 'does not begin with whsec_, whsk_ or whpk_'],
  ])('standard-webhooks: %j %s', (secret, problem) => {
    expect(secretProblem(standard, secret)).toBe(problem);
    expect(verdict(named('v1'), signed(named('v1')), { secrets: [secret] })).toMatchObject({ verified: false });
  });

  test.each(EXAMPLES)('$name: refuses empty secrets and those above 1 KiB', ({ scheme, secret, verifies }) => {
    expect(secretProblem(scheme, secret)).toBeNull();
    expect(secretProblem(scheme, verifies)).toBeNull();
    expect(secretProblem(scheme, '')).toBe('is empty');
    expect(secretProblem(scheme, 'é'.repeat(513))).toBe('has more than 1024 bytes');
  });

  test.each(['two words', 'tökens', 'line\n', '='])('bearer: %j is not sendable', (secret) => {
    expect(secretProblem({ scheme: 'bearer' }, secret)).toContain('is not a token');
  });

  test.each(['user', 'user:', 'us\ner:password', 'user:pass\u0000word', 'user:\u0085'])(
    'basic: %j is invalid',
    (secret) => {
      expect(secretProblem({ scheme: 'basic' }, secret)).toBe('is not user:password without control characters');
    },
  );

  test('an invalid one signs nothing, and is not quoted', () => {
    const delivery = { id: ID, body: BODY, now: NOW };
    const sign = (secret: string) => () => signDelivery(standard, [newSecret(), secret], delivery);
    expect(sign('whsec_c2VjcmV0')).toThrow(new TypeError('The secret has 6 bytes behind whsec_, and needs 24 to 64.'));
    expect(sign(newKeyPair().publicKey)).toThrow(new TypeError('A public key signs nothing.'));
  });

  test('an id that could be confused with the timestamp is not signed', () => {
    const delivery = { id: 'msg.1', body: BODY, now: NOW };
    expect(() => signDelivery(standard, [newSecret()], delivery)).toThrow(RangeError);
  });
});
