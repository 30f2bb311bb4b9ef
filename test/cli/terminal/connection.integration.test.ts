import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../../../cli/terminal/connection.ts';
import { Io } from '../../../cli/terminal/io.ts';
import { answerJson, useStandIn } from '../../client/stand-in.ts';

const server = useStandIn();
let stateDir: string;
beforeAll(async () => {
  server.answers((_request, response) => answerJson(response, 200, { items: [], nextCursor: null }));
  stateDir = await mkdtemp(join(tmpdir(), 'mayfly-cli-'));
});
afterAll(async () => {
  await rm(stateDir, { recursive: true });
});

function leaveConnection(apiUrl: string, apiKey: string): Promise<void> {
  return writeFile(join(stateDir, 'cli.json'), JSON.stringify({ apiUrl, apiKey }), { mode: 0o600 });
}

// Promise: what waits while `mayfly up` is stopped and started goes on with the key of the next. Costs nothing.
it('takes the key of the installation that runs now, and sends it nowhere else', async () => {
  await leaveConnection(server.url, 'mfk_first');
  const { signal } = new AbortController();
  const stream = { isTTY: false, write: () => true };
  const stdin = { isPiped: false, open: () => process.stdin };
  const env = { MAYFLY_STATE_DIR: stateDir };
  const client = connect(new Io({ stdout: stream, stderr: stream, stdin, env, signal, force: signal }));
  const list = () => client.listSandboxes({ deadlineSeconds: 60 });
  await list();
  await rm(join(stateDir, 'cli.json'));
  await expect(list()).rejects.toThrow('was stopped');
  await leaveConnection('http://127.0.0.1:1', 'mfk_elsewhere');
  await expect(list()).rejects.toThrow('listens elsewhere');
  await leaveConnection(server.url, 'mfk_second');
  await list();
  expect(server.seen.map(({ headers }) => headers['authorization'])).toEqual(['Bearer mfk_first', 'Bearer mfk_second']);
});
