import { expect, test } from 'vitest';
import { readConfig } from '../../worker/config/config.ts';

test('hooks have their own port when it is set', () => {
  expect(readConfig({}).hooks).toEqual({ address: '127.0.0.1', port: undefined, url: undefined });
  expect(readConfig({ MAYFLY_HOOKS_PORT: '' }).hooks.port).toBeUndefined();
  const env = { MAYFLY_HOOKS_ADDRESS: '::', MAYFLY_HOOKS_PORT: '0', MAYFLY_HOOKS_URL: 'https://hooks.example.net' };
  expect(readConfig(env).hooks).toEqual({ address: '::', port: 0, url: 'https://hooks.example.net' });
});

test.each(['-1', '65536', '1.5', 'x', ' 7996 x'])('%j is not a port, and the variable is named', (port) => {
  expect(() => readConfig({ MAYFLY_HOOKS_PORT: port })).toThrow(/MAYFLY_HOOKS_PORT/);
});

test.each([
  'hooks.example.net',
  'ftp://hooks.example.net',
  'https://hooks.example.net/h',
  'https://a:b@x',
  'https://x?y',
])('%s is not an address of hooks', (url) => {
  expect(() => readConfig({ MAYFLY_HOOKS_URL: url })).toThrow(/MAYFLY_HOOKS_URL: give a scheme/);
});
