import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, test } from 'vitest';
import type { WaitpointToken } from '../../client/functions/waitpoints.ts';
import { RUN_ID } from '../client/run-record.ts';
import { answerJson, StandIn } from '../client/stand-in.ts';
import { askedBy, runLine } from './run-line.ts';

// `mayfly waitpoint …` against a stand-in for the API. One second.

const token = `mfw_0123456789abcdef_${'x'.repeat(43)}`;
const waitpoint: WaitpointToken = {
  id: 'wp-0123456789abcdef',
  runId: RUN_ID,
  name: 'approval',
  state: 'open',
  expiresAt: '2026-11-27T12:00:00.000Z',
  askedAt: null,
  completedAt: null,
  createdBy: null,
  createdAt: '2026-11-24T12:00:00.000Z',
  token,
  path: `/v1/waitpoints/${token}`,
};

let server: StandIn;
let folder: string;
beforeAll(async () => {
  server = await StandIn.start();
});
afterAll(() => server.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-'));
  return () => rm(folder, { recursive: true });
});

it('makes one, and prints its token alone on standard output', async () => {
  const args = ['waitpoint', 'create', RUN_ID, 'approval', '--timeout', '3d'];
  server.answers((_request, response) => answerJson(response, 201, waitpoint));
  const { code, out, err } = await runLine(server, args);
  expect([code, out, err.includes(`${server.url}${waitpoint.path}`)]).toEqual([0, `${token}\n`, true]);
  const again = await askedBy(server, args, waitpoint);
  expect(again.asked).toBe(`POST /v1/runs/${RUN_ID}/waitpoints {"name":"approval","timeoutSeconds":259200}`);
});

it('lists those of a run', async () => {
  const { code, out } = await askedBy(server, ['waitpoint', 'list', RUN_ID], { items: [waitpoint] });
  expect([code, out]).toEqual([0, expect.stringMatching(/approval +open +not yet +2026-11-27T12:00:00.000Z/)]);
});

it('sends data with a token that stands in a file', async () => {
  const file = join(folder, 'token');
  await writeFile(file, `${token}\n`);
  const args = ['waitpoint', 'complete', '--token-file', file, '--data', '{"ok":true}'];
  const { code, asked } = await askedBy(server, args, { name: 'approval', state: 'completed', completedAt: 'now' });
  expect([code, asked]).toEqual([0, `POST /v1/waitpoints/${token} {"data":{"ok":true}}`]);
});

test('what is no token is not sent, nor shown', async () => {
  const file = join(folder, 'token');
  await writeFile(file, 'mfk_something-else');
  const { code, err } = await runLine(server, ['waitpoint', 'complete', '--token-file', file]);
  expect([code, err.includes('no token of a waitpoint'), err.includes('something-else')]).toEqual([2, true, false]);
});
