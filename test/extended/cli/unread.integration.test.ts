import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { COMMAND_ID, commandRecord, ID, sandboxRecord } from '../../clients/typescript/records.ts';
import { answerJson, useStandIn } from '../../clients/typescript/stand-in.ts';

const MAYFLY = fileURLToPath(new URL('../../../bin/mayfly', import.meta.url));
const OUTPUT = 'event: output\ndata: {"stream":"stdout","at":"","offset":0,"text":"y"}\n\n';

const server = useStandIn();
beforeAll(async () => {
  const running = commandRecord({ state: 'running', outcome: null, exitCode: null, endedAt: null });
  server.answers(({ path }, response) => {
    const write = (text: string) => {
      const writing = setInterval(() => response.write(text), 20);
      response.once('close', () => clearInterval(writing));
    };
    if (path.endsWith('/events')) write(OUTPUT);
    else if (path.startsWith('/v1/sandboxes?'))
      answerJson(response, 200, { items: [sandboxRecord()], nextCursor: 'on' });
    else if (path.includes('/files/')) {
      response.setHeader('content-type', 'application/octet-stream');
      write('y'.repeat(65_536));
    } else answerJson(response, 200, path.includes('/commands') ? running : sandboxRecord());
  });
});

it.each([
  [['logs', ID, COMMAND_ID, '-f']],
  [['ls', '--json']],
  [['ls', '-q', '--all']],
  [['run', ID, '--', 'yes']],
  [['exec', ID, '--', 'yes']],
  [['cp', `${ID}:/y`, '-']],
])('%j ends with 141 and no message when its reader ends', async (args) => {
  const env = { ...process.env, MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
  const child = spawn(process.execPath, [MAYFLY, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said: Buffer[] = [];
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes));
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  expect([(await ended)[0], Buffer.concat(said).toString()]).toEqual([141, '']);
});

it('an MCP server ends with 141 and no message when its client stops reading', async () => {
  const env = { ...process.env, MAYFLY_URL: server.url, MAYFLY_API_KEY: 'mfk_secret' };
  const child = spawn(process.execPath, [MAYFLY, 'mcp'], { env });
  const said: Buffer[] = [];
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes));
  child.stdin.on('error', () => {});
  const ended = once(child, 'close');
  const ask = (id: number, method: string, params = {}) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
  ask(1, 'initialize', client);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  ask(2, 'tools/list');
  expect([(await ended)[0], Buffer.concat(said).toString()]).toEqual([141, '']);
});
