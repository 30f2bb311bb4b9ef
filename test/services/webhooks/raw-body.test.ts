import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { EXAMPLES, ID, NOW, named, signed, verdict } from './every-scheme.ts';

/** shared/cases/functions.md, 34: a signature is of the bytes that were sent, and no parser comes before it. */
const BODIES: [name: string, sent: Buffer, other: Buffer][] = [
  ['a BOM', Buffer.from('\ufeff{}'), Buffer.from('{}')],
  ['an escape in upper case', Buffer.from(String.raw`"\u001B"`), Buffer.from(String.raw`"\u001b"`)],
  ['a trailing newline', Buffer.from('{}\n'), Buffer.from('{}')],
  ['gzip', gzipSync('{"foo":"bar"}'), Buffer.from('{"foo":"bar"}')],
  ['what is no UTF-8', Buffer.from([0xc0, 0x80, 0xff]), Buffer.from('\ufffd\ufffd\ufffd')],
  ['nothing', Buffer.alloc(0), Buffer.from([0])],
];

describe.each(EXAMPLES.filter(({ signs }) => signs))('$name', (example) => {
  test.each(BODIES)('34: a body with %s is verified as it was sent, and as nothing else', (_name, sent, other) => {
    const headers = signed(example, sent);
    expect(verdict(example, headers, { body: sent })).toMatchObject({ verified: true, secretIndex: 0 });
    expect(verdict(example, headers, { body: other })).toMatchObject({ verified: false });
  });
});

/** Written out once more here, so that both directions cannot be wrong in the same way. */
describe('what is signed', () => {
  const body = Buffer.from('Hello, World!');
  const seconds = NOW / 1000;
  const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');

  test('stripe: timestamp, full stop, body; with the whole text of the secret', () => {
    const { secret } = named('stripe');
    const signature = hmac(secret, `${seconds}.Hello, World!`);
    expect(signed(named('stripe'), body)).toEqual([['stripe-signature', `t=${seconds},v1=${signature}`]]);
    expect(verdict(named('stripe'), signed(named('stripe'), body), { body })).toEqual({
      verified: true,
      deliveryId: null,
      timestamp: seconds,
      secretIndex: 0,
    });
  });

  test('hmac: the body; with a time, that before it', () => {
    expect(signed(named('hmac in hex'), body)).toEqual([['x-signature', `v0=${hmac('mysecret', 'Hello, World!')}`]]);
    expect(signed(named('hmac with a time'), body)).toEqual([
      ['x-timestamp', String(seconds)],
      ['x-signature', hmac('mysecret', `${seconds}.Hello, World!`)],
    ]);
  });

  test('bearer and basic: nothing; they are the secret itself', () => {
    expect(signed(named('bearer'), body)).toEqual([['authorization', 'Bearer mytoken-1']]);
    // user:päss:word in UTF-8
    expect(signed(named('basic'), body)).toEqual([['authorization', 'Basic dXNlcjpww6Rzczp3b3Jk']]);
  });

  test('github names the delivery beside it', () => {
    expect(signed(named('github'), body)[0]).toEqual(['x-github-delivery', ID]);
  });
});
