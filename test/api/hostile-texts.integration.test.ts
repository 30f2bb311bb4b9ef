// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are Docker's
import { expect, it } from 'vitest';
import { buildTar } from '../../model/image/tar.ts';
import { useDoor } from './support.ts';

// The API parses callers' texts on its only thread: its watchdog fails a request that blocks it.

const door = useDoor();

const MIB = 1_000_000;
const image = (dockerfile: string, more: object = {}) => ({ name: 'web', dockerfile, ...more });
const ignoring = (ignore: string) => {
  const file = (path: string, text: string) => {
    return { path, type: 'file' as const, mode: 0o644, bytes: Buffer.from(text), link: null };
  };
  const files = Array.from({ length: 800 }, (_, n) => file(`${'a'.repeat(200)}/${n}${'a'.repeat(200)}`, ''));
  return Buffer.from(buildTar([file('.dockerignore', ignore), ...files])).toString('base64');
};

it.each<[string, string, string, object]>([
  ['flags', 'POST', '/v1/images', image(`FROM golden\nRUN ${'--a=b '.repeat(20_000)}x`)],
  ['nested variables', 'POST', '/v1/images', image(`FROM golden\nENV A=${'${a:-'.repeat(50_000)}`)],
  ['doubled variables', 'POST', '/v1/images', image(`FROM golden\nENV A=ab${'\nENV A=$A$A'.repeat(60)}`)],
  ['blanks', 'POST', '/v1/images', image(`FROM golden\nRUN a${' '.repeat(MIB)}b`)],
  ['instructions', 'POST', '/v1/images', image(`FROM golden\n${'ENV a=b\n'.repeat(100_000)}`)],
  ['mistakes', 'POST', '/v1/images', image(`FROM golden\n${'x\n'.repeat(400_000)}`)],
  ['.dockerignore', 'POST', '/v1/images', image('FROM golden', { context: ignoring('*a'.repeat(2_000)) })],
  ['brackets', 'POST', '/v1/images', image('FROM golden', { context: ignoring('['.repeat(4_000)) })],
  ['cron', 'PUT', '/v1/schedules/s', { function: 'f', cron: `${'*,'.repeat(MIB / 4)}* * * * *` }],
  ['every', 'PUT', '/v1/schedules/s', { function: 'f', every: `${'9'.repeat(MIB / 2)}s` }],
  ['a pointer', 'PUT', '/v1/functions/f', { argv: ['x'], concurrency: [{ limit: 1, key: '/a~0'.repeat(MIB / 8) }] }],
  ['a rule', 'PUT', '/v1/policy', { rules: [{ name: 'r', when: { command: 'a '.repeat(MIB / 4) }, effect: 'deny' }] }],
  ['a name', 'POST', '/v1/sandboxes', { source: ' '.repeat(MIB / 2) }],
])('%s are read or refused without blocking the API', async (_what, method, path, body) => {
  const { status } = await door.call(method, path, body);
  expect(status).toBeLessThan(500);
});
