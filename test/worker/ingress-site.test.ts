import { expect, test } from 'vitest';
import { readConfig } from '../../worker/config/config.ts';
import { findIngressProblem } from '../../worker/config/ingress-site.ts';

test.for([
  ['https://sandboxes.example.net', ['127.0.0.1', 'mayfly.example.com']],
  ['https://example.net:8443', ['api.example.com:443']],
  ['http://localhost:7997', ['127.0.0.1', '[::1]:7999']],
  // Each name below an entry of the Public Suffix List is its own site.
  ['https://guests.github.io', ['api.github.io']],
  ['https://github.io', ['github.com']],
  ['https://sandboxes.co.uk', ['mayfly.co.uk']],
] as const)('%s is a different site from %s', ([url, api]) => {
  expect(findIngressProblem(url, api)).toBeNull();
});

test.for([
  ['https://sandboxes.example.com', ['127.0.0.1', 'mayfly.example.com']],
  ['https://a.b.example.com', ['example.com:443']],
  ['https://mayfly.example.com', ['MAYFLY.Example.Com.']],
  ['https://mayfly.co.uk', ['api.mayfly.co.uk']],
  ['https://mine.github.io', ['api.mine.github.io']],
] as const)('%s is on the same site as %s', ([url, api]) => {
  expect(findIngressProblem(url, api)).toContain('same site');
});

test.for([
  'sandboxes.example.net',
  'ftp://sandboxes.example.net',
  'https://*.sandboxes.example.net',
  'https://10.0.0.1',
  'https://[::1]:7997',
  'https://sandboxes.example.net/path',
  'https://user@sandboxes.example.net',
])('%s is refused', (url) => {
  expect(findIngressProblem(url, [])).not.toBeNull();
});

test('a start with both on one site is refused, with the variable and a remedy', () => {
  const env = { MAYFLY_API_NAMES: 'mayfly.example.com', MAYFLY_INGRESS_URL: 'https://sandboxes.example.com' };
  expect(() => readConfig(env)).toThrow(
    /MAYFLY_INGRESS_URL: .*same site as the API at mayfly\.example\.com; give them a domain of their own/,
  );
  expect(readConfig({}).ingress).toEqual({ address: '127.0.0.1', port: 7_997, url: undefined });
  expect(readConfig({ MAYFLY_API_PORT: '0' }).ingress.port).toBe(0);
});
