import { createHmac } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { EXAMPLES, ID, NOW, named, signed, verdict } from './every-scheme.ts';

/**
 * Bodies whose re-encoding differs (shared/cases/functions.md, 34): signatures cover the raw bytes, before any parser.
 */
const BODIES: [name: string, sent: Buffer, other: Buffer][] = [
  ['a BOM', Buffer.from('\ufeff{}'), Buffer.from('{}')],
  ['an escape in upper case', Buffer.from(String.raw`"\u001B"`), Buffer.from(String.raw`"\u001b"`)],
  ['a trailing newline', Buffer.from('{}\n'), Buffer.from('{}')],
  ['gzip', gzipSync('{"foo":"bar"}'), Buffer.from('{"foo":"bar"}')],
  ['what is no UTF-8', Buffer.from([0xc0, 0x80, 0xff]), Buffer.from('\ufffd\ufffd\ufffd')],
  ['nothing', Buffer.alloc(0), Buffer.from([0])],
];

describe.each(EXAMPLES.filter(({ signs }) => signs))('$name', (example) => {
  test.each(BODIES)('34: a body with %s is verified as sent, and only as such', (_name, sent, other) => {
    const headers = signed(example, sent);
    expect(verdict(example, headers, { body: sent })).toMatchObject({ verified: true, secretIndex: 0 });
    expect(verdict(example, headers, { body: other })).toMatchObject({ verified: false });
  });
});

/** Recomputes signatures independently, so that both directions cannot share an error. */
describe('signed content', () => {
  const body = Buffer.from('Hello, World!');
  const seconds = NOW / 1000;
  const hmac = (key: string, text: string) => createHmac('sha256', key).update(text).digest('hex');

  test('stripe: timestamp, full stop, body; keyed with the whole secret', () => {
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

  test('hmac: the body; with a timestamp, that before it', () => {
    expect(signed(named('hmac in hex'), body)).toEqual([['x-signature', `v0=${hmac('mysecret', 'Hello, World!')}`]]);
    expect(signed(named('hmac with a time'), body)).toEqual([
      ['x-timestamp', String(seconds)],
      ['x-signature', hmac('mysecret', `${seconds}.Hello, World!`)],
    ]);
  });

  test('bearer and basic: none; the header is the secret itself', () => {
    expect(signed(named('bearer'), body)).toEqual([['authorization', 'Bearer mytoken-1']]);
    // user:päss:word in UTF-8
    expect(signed(named('basic'), body)).toEqual([['authorization', 'Basic dXNlcjpww6Rzczp3b3Jk']]);
  });

  test('github sends the delivery id in its own header', () => {
    expect(signed(named('github'), body)[0]).toEqual(['x-github-delivery', ID]);
  });
});
