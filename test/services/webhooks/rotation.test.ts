import { describe, expect, test } from 'vitest';
import { firstMatch } from '../../../services/webhooks/signing/digest.ts';
import { signDelivery } from '../../../services/webhooks/signing/sign.ts';
import { newSecret } from '../../../services/webhooks/signing/standard-key.ts';
import { BODY, EXAMPLES, ID, NOW, named, signed, verdict } from './every-scheme.ts';

const delivery = { id: ID, body: BODY, now: NOW };

/** Guards shared/cases/functions.md, 37: during a rotation both secrets are accepted, then only the new one. */
describe.each(EXAMPLES)('37: $name', (example) => {
  const { verifies, oldVerifies, oldSecret } = example;
  const old = { ...example, secret: oldSecret };

  test('both are accepted, and the index of the secret is returned', () => {
    const secrets = [verifies, oldVerifies];
    expect(verdict(example, signed(example), { secrets })).toMatchObject({ verified: true, secretIndex: 0 });
    expect(verdict(example, signed(old), { secrets })).toMatchObject({ verified: true, secretIndex: 1 });
  });

  test('then only the new one is accepted', () => {
    expect(verdict(example, signed(example))).toMatchObject({ verified: true });
    expect(verdict(example, signed(old))).toMatchObject({ verified: false });
  });

  test('an unusable secret verifies nothing, and the other still works', () => {
    const secrets = ['', verifies];
    expect(verdict(example, signed(example), { secrets })).toMatchObject({ verified: true, secretIndex: 1 });
    expect(verdict(example, signed(example), { secrets: [''] })).toEqual({
      verified: false,
      why: 'there is no secret that can be used',
    });
    expect(verdict(example, signed(example), { secrets: [] })).toMatchObject({ verified: false });
  });

  test('a third is not tried', () => {
    const secrets = [oldVerifies, oldVerifies, verifies];
    expect(verdict(example, signed(example), { secrets })).toMatchObject({ verified: false });
  });
});

test('37: of two matching signatures the first determines the secret', () => {
  const keys = ['a', 'b'];
  expect(firstMatch(['b', 'a'], keys, Object.is)).toBe(1);
  expect(firstMatch(['a', 'b'], keys, Object.is)).toBe(0);
  expect(firstMatch(['c'], keys, Object.is)).toBeNull();
});

test('37: each secret is tried with each signature, also after one matched', () => {
  const tried: string[] = [];
  const matches = (signature: string, key: string) => {
    tried.push(signature + key);
    return key === 'y';
  };
  expect(firstMatch(['a', 'b'], ['x', null, 'y', 'z'], matches)).toBe(2);
  expect(tried).toEqual(['ax', 'ay', 'az', 'bx', 'by', 'bz']);
});

describe('37: outgoing deliveries', () => {
  test.each(['v1', 'v1a', 'stripe'])('%s is signed with both secrets, and accepted with either', (name) => {
    const example = named(name);
    const headers = signDelivery(example.scheme, [example.secret, example.oldSecret], delivery);
    expect(verdict(example, headers)).toMatchObject({ verified: true });
    expect(verdict(example, headers, { secrets: [example.oldVerifies] })).toMatchObject({ verified: true });
  });

  test('v1 and v1a can be combined', () => {
    const [v1, v1a] = [named('v1'), named('v1a')];
    const headers = signDelivery(v1.scheme, [v1.secret, v1a.secret], delivery);
    expect(headers.at(-1)?.[1]).toMatch(/^v1,\S{44} v1a,\S{88}$/);
    expect(verdict(v1, headers)).toMatchObject({ verified: true });
    expect(verdict(v1a, headers)).toMatchObject({ verified: true });
    // a private key can verify like its public key
    expect(verdict(v1a, headers, { secrets: [newSecret(), v1a.secret] })).toMatchObject({ secretIndex: 1 });
  });

  test.each(['github', 'hmac in hex', 'bearer', 'basic'])('%s can carry one signature: the first', (name) => {
    const example = named(name);
    expect(signDelivery(example.scheme, [example.secret, example.oldSecret], delivery)).toEqual(signed(example));
  });
});
