import { describe, expect, test } from 'vitest';
import { signDelivery } from '../../../services/webhooks/signing/sign.ts';
import type { Header } from '../../../services/webhooks/signing/verdict.ts';
import { BODY, changed, ID, NOW, named, signed, verdict } from './every-scheme.ts';

/** Examples with timestamps (shared/cases/functions.md, 36): decimal seconds within tolerance. */
const TIMED = ['v1', 'v1a', 'stripe', 'hmac with a time'].map(named);
const seconds = NOW / 1000;

function withTimestamp(headers: readonly Header[], text: string): Header[] {
  const inStripe = changed(headers, 'stripe-signature', (value) => value.replace(/^t=\d+/, `t=${text}`));
  return changed(
    changed(inStripe, 'webhook-timestamp', () => text),
    'x-timestamp',
    () => text,
  );
}

/** Returns the seconds in digits of another script. @param zero its zero digit */
function digitsFrom(zero: number): string {
  return String(seconds).replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
}

describe.each(TIMED)('36: $name', (example) => {
  test.each([0, 299, 300, -299, -300])('%i s old is accepted', (age) => {
    const headers = signed(example, BODY, NOW - age * 1000);
    expect(verdict(example, headers)).toMatchObject({ verified: true, timestamp: seconds - age });
  });

  test.each([301, -301, 86_400])('%i s old is refused with a reason', (age) => {
    const why = `the timestamp is ${age} s old, and may be 300 s off`;
    expect(verdict(example, signed(example, BODY, NOW - age * 1000))).toEqual({ verified: false, why });
  });

  /** Invalid forms; `1e9` equals its test's clock, so that only its form is wrong. */
  test.each([
    [String(NOW), NOW],
    ['1e9', 1_000_000_000_000],
    [`-${seconds}`, NOW],
    [`+${seconds}`, NOW],
    [` ${seconds}`, NOW],
    [`${seconds} `, NOW],
    [`${seconds}\n`, NOW],
    [`${seconds}.0`, NOW],
    [`0${seconds}`, NOW],
    [`0x${seconds.toString(16)}`, NOW],
    [digitsFrom(0x660), NOW],
    [digitsFrom(0xff10), NOW],
    ['-0', 0],
    ['', 0],
    ['NaN', NOW],
  ])('%j is not a timestamp', (text, now) => {
    const headers = withTimestamp(signed(example, BODY, now), text);
    const why = 'the timestamp is not a plain number of seconds';
    expect(verdict(example, headers, { now })).toEqual({ verified: false, why });
  });

  test('a changed one invalidates the signature', () => {
    expect(verdict(example, withTimestamp(signed(example), String(seconds - 1)))).toMatchObject({ verified: false });
  });

  test('a missing one is refused', () => {
    const headers = signed(example).filter(([name]) => !name.endsWith('timestamp'));
    const without = changed(headers, 'stripe-signature', (value) => value.replace(/^t=\d+,/, ''));
    expect(verdict(example, without)).toEqual({
      verified: false,
      why: 'the timestamp is missing, or there are two',
    });
  });
});

test('36: milliseconds are refused even when they are signed', () => {
  const { scheme, secret } = named('hmac with a time');
  const headers = signDelivery(scheme, [secret], { id: ID, body: BODY, now: NOW * 1000 });
  expect(headers[0]).toEqual(['x-timestamp', String(NOW)]);
  expect(verdict(named('hmac with a time'), headers)).toMatchObject({ verified: false });
});
