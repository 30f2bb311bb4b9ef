import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { textOf } from '../../cli/secret/commands.ts';
import type { SecretDetail } from '../../clients/typescript/http/openapi.ts';
import { LIMITS } from '../../model/limits.ts';
import { answerOf } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { runLine } from './run-line.ts';

// `mayfly secret list|show|delete` against a stand-in for the API, and the input of `set`. Less than a second.

const server = useStandIn();

const secret = answerOf<SecretDetail>('getSecret', { name: 'token' });
const at = secret.createdAt;
const line = (args: string[]) => runLine(server, ['secret', ...args]);

it('lists secrets without their values', async () => {
  server.answers((_request, response) => answerJson(response, 200, { items: [secret] }));
  expect((await line(['list'])).out).toMatch(/NAME.*VERSION.*\ntoken +2 +yes/);
});

it('shows versions, and the runs that used them', async () => {
  const createdBy = { apiKeyId: '0123456789ab', agentId: null };
  const versions = [{ version: 2, createdAt: at, createdBy }];
  const uses = [{ version: 2, runId: 'run-0123456789abcdef', attempt: 1, at }];
  const warnings = ['The secret token is not masked'];
  server.answers((_request, response) => answerJson(response, 200, { ...secret, warnings, versions, uses }));
  const { out, err } = await line(['show', 'token']);
  expect(out).toContain('used 2');
  expect(out).toContain('run-0123456789abcdef');
  expect(err).toContain('is not masked');
});

it('deletes a secret', async () => {
  server.answers((_request, response) => response.writeHead(204).end());
  const { code, out } = await line(['delete', 'token']);
  expect([code, out]).toEqual([0, 'token is deleted\n']);
  expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toContain('DELETE /v1/secrets/token');
});

it('refuses a secret as an argument', async () => {
  const { code } = await line(['set', 'token', 'hunter2-in-argv']);
  expect(code).toBe(2);
});

it('reads a secret from standard input up to the limit', async () => {
  const most = LIMITS.functions.secrets.bytes;
  expect(await textOf(Readable.from([Buffer.from('pä'), Buffer.from('ss\n')]))).toBe('päss\n');
  await expect(textOf(Readable.from([Buffer.alloc(most + 3, 'a')]))).rejects.toThrow('more than');
  await expect(textOf(Readable.from([Buffer.from([0xff])]))).rejects.toThrow('no UTF-8');
});
