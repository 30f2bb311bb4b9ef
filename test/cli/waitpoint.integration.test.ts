import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import type { WaitpointToken } from '../../clients/typescript/http/openapi.ts';
import { answerOf, RUN_ID } from '../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../clients/typescript/stand-in.ts';
import { useFreshFolder } from '../support/use-folder.ts';
import { askedBy, runLine } from './run-line.ts';

// `mayfly waitpoint …` against a stand-in for the API. One second.

const waitpoint = answerOf<WaitpointToken>('createWaitpoint', { runId: RUN_ID }, '201');
const { token } = waitpoint;

const server = useStandIn();
const folder = useFreshFolder();

it('creates a waitpoint, and prints its token alone on standard output', async () => {
  const args = ['waitpoint', 'create', RUN_ID, 'approval', '--timeout', '3d'];
  server.answers((_request, response) => answerJson(response, 201, waitpoint));
  const { code, out, err } = await runLine(server, args);
  expect([code, out, err.includes(`${server.url}${waitpoint.path}`)]).toEqual([0, `${token}\n`, true]);
  const again = await askedBy(server, args, waitpoint);
  expect(again.asked).toBe(`POST /v1/runs/${RUN_ID}/waitpoints {"name":"approval","timeoutSeconds":259200}`);
});

it('lists the waitpoints of a run', async () => {
  const { code, out } = await askedBy(server, ['waitpoint', 'list', RUN_ID], { items: [waitpoint] });
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(new RegExp(`approval +open +not yet +${waitpoint.expiresAt}`)),
  ]);
});

it('sends data with a token from a file', async () => {
  const file = join(folder, 'token');
  await writeFile(file, `${token}\n`);
  const args = ['waitpoint', 'complete', '--token-file', file, '--data', '{"ok":true}'];
  const { code, asked } = await askedBy(server, args, { name: 'approval', state: 'completed', completedAt: 'now' });
  expect([code, asked]).toEqual([0, `POST /v1/waitpoints/${token} {"data":{"ok":true}}`]);
});

test('an invalid token is neither sent nor shown', async () => {
  const file = join(folder, 'token');
  await writeFile(file, 'mfk_something-else');
  const { code, err } = await runLine(server, ['waitpoint', 'complete', '--token-file', file]);
  expect([code, err.includes('no token of a waitpoint'), err.includes('something-else')]).toEqual([2, true, false]);
});
