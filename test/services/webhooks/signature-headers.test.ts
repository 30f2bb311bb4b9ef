import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Header } from '../../../services/webhooks/signing/verdict.ts';
import { changed, EXAMPLES, ID, NOW, named, signed, verdict } from './every-scheme.ts';

/** Signature headers (shared/cases/functions.md, 35): first match wins, bounded work, no exception. */
const SIGNATURE_HEADERS = [
  'webhook-signature',
  'x-hub-signature-256',
  'stripe-signature',
  'x-signature',
  'authorization',
];
const JUNK = { v1: `v1,${'A'.repeat(43)}=`, v1a: `v1a,${'A'.repeat(86)}==` };
const STANDARD = 'webhook-signature';

const verified = { verified: true };
const notVerified = { verified: false };
const isSignature = ([name]: Header) => SIGNATURE_HEADERS.includes(name);

describe('35: standard-webhooks', () => {
  const v1 = named('v1');
  const v1a = named('v1a');
  const junkBefore = (count: number, junk: string, example = v1) =>
    changed(signed(example), STANDARD, (value) => [...Array<string>(count).fill(junk), value].join(' '));

  test('the twentieth signature counts, the next is ignored', () => {
    expect(verdict(v1, junkBefore(19, JUNK.v1))).toMatchObject({ ...verified, deliveryId: ID });
    expect(verdict(v1, junkBefore(20, JUNK.v1))).toMatchObject(notVerified);
  });

  test('the fourth v1a signature counts, the next is ignored, since each hashes the body again', () => {
    expect(verdict(v1a, junkBefore(3, JUNK.v1a, v1a))).toMatchObject(verified);
    expect(verdict(v1a, junkBefore(4, JUNK.v1a, v1a))).toMatchObject(notVerified);
    expect(verdict(v1, junkBefore(19, JUNK.v1a))).toMatchObject(verified);
  });

  test.each(['v2,AAAA', 'v1', 'v1,', 'v1,,', 'v1,====', 'v1,é', ',', '', 'V1,AAAA', 'v1,AAAA'])(
    '%j is skipped',
    (junk) => {
      expect(verdict(v1, junkBefore(30, junk))).toMatchObject(verified);
      expect(
        verdict(
          v1,
          changed(signed(v1), STANDARD, () => junk),
        ),
      ).toMatchObject(notVerified);
    },
  );

  test('a signature of one version is not valid for the other', () => {
    const asV1a = changed(signed(v1), STANDARD, (value) => value.replace('v1,', 'v1a,'));
    expect(verdict(v1, asV1a)).toMatchObject(notVerified);
    const asV1 = changed(signed(v1a), STANDARD, (value) => value.replace('v1a,', 'v1,'));
    expect(verdict(v1a, asV1)).toMatchObject(notVerified);
  });

  test('Svix names are accepted, but not mixed with the others', () => {
    const svix = signed(v1).map(([name, value]): Header => [name.replace('webhook-', 'svix-'), value]);
    expect(verdict(v1, svix)).toMatchObject(verified);
    expect(verdict(v1, [...svix.slice(0, 2), ...signed(v1).slice(2)])).toMatchObject(notVerified);
  });

  test.each(['', 'a.b', 'a b', 'é', 'a'.repeat(257)])('the id %j is invalid', (id) => {
    expect(
      verdict(
        v1,
        changed(signed(v1), 'webhook-id', () => id),
      ),
    ).toMatchObject(notVerified);
  });

  test('a repeated id or timestamp is refused', () => {
    for (const name of ['webhook-id', 'webhook-timestamp']) {
      const headers = signed(v1);
      expect(verdict(v1, [...headers, ...headers.filter(([given]) => given === name)])).toMatchObject(notVerified);
    }
  });
});

describe('35: stripe', () => {
  const stripe = named('stripe');
  const change = (by: (value: string) => string) => verdict(stripe, changed(signed(stripe), 'stripe-signature', by));

  test('any v1 counts, other versions are ignored', () => {
    expect(change((value) => `v0=00,${value.replace(',', `,v1=,v1=zz,v1=${'0'.repeat(64)},`)}`)).toMatchObject(
      verified,
    );
    expect(change((value) => value.replace('v1=', 'v0='))).toMatchObject(notVerified);
  });

  test('the twentieth v1 counts, the next is ignored', () => {
    expect(change((value) => value.replace(',', `,${'v1=00,'.repeat(19)}`))).toMatchObject(verified);
    expect(change((value) => value.replace(',', `,${'v1=00,'.repeat(20)}`))).toMatchObject(notVerified);
  });

  test('a repeated time in one header is refused', () => {
    expect(change((value) => `t=1,${value}`)).toMatchObject(notVerified);
    expect(change((value) => `${value},t=1`)).toMatchObject(notVerified);
  });

  test('the fourth header counts, the next is ignored, since each may hash the body again', () => {
    const junk = (count: number) => Array<Header>(count).fill(['stripe-signature', 't=1,v1=00']);
    expect(verdict(stripe, [...junk(3), ...signed(stripe)])).toMatchObject(verified);
    expect(verdict(stripe, [...junk(4), ...signed(stripe)])).toMatchObject(notVerified);
  });
});

describe('35: hex', () => {
  test.each(['github', 'stripe', 'hmac in hex'])('%s: upper case is accepted', (name) => {
    const upper = signed(named(name)).map(
      ([header, value]): Header => [header, value.replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase())],
    );
    expect(verdict(named(name), upper)).toMatchObject(verified);
  });

  test.each(['sha256=', '', 'sha1=00', 'SHA256=', 'sha256=0', 'sha256=zz'])('%j is not a signature', (value) => {
    expect(verdict(named('github'), [['x-hub-signature-256', value]])).toMatchObject(notVerified);
  });
});

test('35: the delivery header of GitHub is returned when it is a valid id, and ignored otherwise', () => {
  const github = named('github');
  expect(verdict(github, signed(github))).toMatchObject({ ...verified, deliveryId: ID });
  const odd = changed(signed(github), 'x-github-delivery', () => 'x'.repeat(300));
  expect(verdict(github, odd)).toMatchObject({ ...verified, deliveryId: null });
  expect(verdict(github, signed(github).slice(1))).toMatchObject({ ...verified, deliveryId: null });
});

describe('35: bearer and basic', () => {
  test('the name of the scheme is case-insensitive', () => {
    expect(verdict(named('bearer'), [['authorization', 'bearer  mytoken-1']])).toMatchObject(verified);
    expect(verdict(named('basic'), [['authorization', 'BASIC dXNlcjpww6Rzczp3b3Jk']])).toMatchObject(verified);
  });

  test.each([
    'mytoken-1',
    'Bearer',
    'Bearer ',
    'Bearer mytoken',
    'Bearer mytoken-1x',
    'Bearer my token-1',
    'Basic mytoken-1',
  ])('%j is not authorized', (value) => {
    expect(verdict(named('bearer'), [['authorization', value]])).toMatchObject(notVerified);
  });
});

describe.each(EXAMPLES)('35: $name', (example) => {
  const headers = signed(example);
  const others = headers.filter((header) => !isSignature(header));
  const [signature] = headers.filter(isSignature);
  const withValue = (value: string): Header[] => [...others, [signature?.[0] ?? '', value]];

  test('either of two headers of the name counts', () => {
    expect(verdict(example, [...withValue('junk'), ...headers.filter(isSignature)])).toMatchObject(verified);
    expect(verdict(example, [...headers, ...withValue('junk').slice(-1)])).toMatchObject(verified);
  });

  test('a missing, empty or non-ASCII header, or one of 64 KiB, is not verified', () => {
    expect(verdict(example, [])).toMatchObject(notVerified);
    expect(verdict(example, others)).toMatchObject(notVerified);
    const value = signature?.[1] ?? '';
    for (const bad of [
      '',
      ' ',
      `${value}é`,
      `\u{1f600}${value}`,
      '\ud800',
      `${value} ${'x'.repeat(65_536)}`,
      '='.repeat(65_536),
    ]) {
      expect(verdict(example, withValue(bad)), bad.slice(0, 100)).toMatchObject(notVerified);
    }
  });

  test('arbitrary headers throw nothing, verify nothing and leak no secret', () => {
    const [v1, v1a] = [JUNK.v1, JUNK.v1a];
    const begins = ['v1,', 'v1a,', `t=${NOW / 1000},v1=`, 'sha256=', 'v0=', 'Bearer ', 'Basic ', v1, v1a];
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...begins), fc.base64String());
    const text = fc.array(value, { maxLength: 4 }).map((parts) => parts.join(''));
    const name = fc.constantFrom(...headers.map(([one]) => one));
    const given = fc.tuple(fc.subarray(others, { minLength: 0 }), fc.array(fc.tuple(name, text), { maxLength: 3 }));
    fc.assert(
      fc.property(given, ([whole, hostile]) => {
        const said = verdict(example, [...whole, ...hostile]);
        expect(said.verified).toBe(false);
        expect(JSON.stringify(said)).not.toContain(example.verifies);
      }),
    );
  });
});
