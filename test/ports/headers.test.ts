// Guards: Mayfly's cookie, its keys, and site-wide browser settings never reach or come from a program. Costs nothing.
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { PortAddress } from '../../model/ports/port-address.ts';
import { cookiesOf, hasApiKey, isMayflyCookie, parseRoute } from '../../services/ingress/headers.ts';
import { answerHeaders, requestHeaders } from '../../services/ingress/request-headers.ts';

const addresses = new PortAddress('http://localhost:7997');
const target = { sandboxId: 'sbx-0123456789abcdef', port: 3_000 };
const asked = { ...target, form: 'host', path: '/', token: undefined } as const;
const KEY = `mfk_${'a'.repeat(40)}`;

const message = (headers: Record<string, string>, url = '/') =>
  ({
    url,
    headers,
    rawHeaders: Object.entries(headers).flat(),
    socket: { remoteAddress: '127.0.0.1' },
  }) as unknown as IncomingMessage;

it.each([
  '__Host-mayfly-token=x',
  '__Host-mayfly-token =x',
  '\t__Host-mayfly-token\t= x',
  '=__Host-mayfly-token=x',
  '__host-Mayfly-Token=x',
  '__Host%2Dmayfly-token=x',
])("%j is Mayfly's cookie", (pair) => {
  expect(isMayflyCookie(pair)).toBe(true);
  expect(cookiesOf(`a=b; ${pair}; c=d`).others).toBe('a=b; c=d');
  const headers = answerHeaders(
    message({ 'set-cookie': `${pair}; Path=/` }),
    asked,
    { host: 'localhost', cors: false },
    addresses,
  );
  expect(headers['set-cookie']).toBeUndefined();
});

it.each(['mayfly-token=x', '__Host-mayfly-tokens=x', 'x=__Host-mayfly-token'])('%j belongs to a program', (pair) => {
  expect(isMayflyCookie(pair)).toBe(false);
});

describe('an API key', () => {
  it.each([
    KEY,
    `Bearer ${KEY}`,
    `a=${KEY}`,
    `a="${KEY}"`,
    `a=mfk%5F1`,
    `Basic ${Buffer.from(`x:${KEY}`).toString('base64')}`,
  ])('is recognized in %s', (text) => expect(hasApiKey(text)).toBe(true));

  it('reaches no program', () => {
    const incoming = message({
      authorization: `Bearer ${KEY}`,
      'x-api-key': KEY,
      'x-other': 'kept',
      cookie: `a=${KEY}; b=kept`,
      referer: `http://x/?key=${KEY}`,
    });
    const headers = requestHeaders(incoming, asked, { host: 'localhost' }, addresses);
    expect(JSON.stringify(headers)).not.toContain('mfk_');
    expect(headers).toMatchObject({ 'x-other': 'kept', cookie: 'b=kept' });
    const host = addresses.hostOf(target);
    expect(parseRoute(message({ host }, `/p?a=1&key=${KEY}&b=2`), addresses)?.path).toBe('/p?a=1&b=2');
  });
});

it('no program can change site-wide settings of the browser', () => {
  const names = [
    'Clear-Site-Data',
    'NEL',
    'Report-To',
    'Reporting-Endpoints',
    'Strict-Transport-Security',
    'Strict_Transport_Security',
  ];
  const incoming = message(Object.fromEntries([...names, 'X-Own'].map((name) => [name, 'x'])));
  const headers = answerHeaders(incoming, asked, { host: 'localhost', cors: false }, addresses);
  expect(Object.keys(headers).filter((name) => name !== 'x-accel-buffering')).toEqual(['x-own']);
});
