import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { connect } from '../../../cli/terminal/connection.ts';
import { Io } from '../../../cli/terminal/io.ts';
import { answerJson, useStandIn } from '../../clients/typescript/stand-in.ts';
import { useFolder } from '../../support/use-folder.ts';

const server = useStandIn();
const stateDir = useFolder();
beforeAll(async () => {
  server.answers((_request, response) => answerJson(response, 200, { items: [], nextCursor: null }));
});

function leaveConnection(apiUrl: string, apiKey: string): Promise<void> {
  return writeFile(join(stateDir, 'cli.json'), JSON.stringify({ apiUrl, apiKey }), { mode: 0o600 });
}

it('uses the key of the current installation, and sends it nowhere else', async () => {
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
