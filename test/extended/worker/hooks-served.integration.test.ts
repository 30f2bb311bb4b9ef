import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { StateDir } from '../../../host/state-dir.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { githubHeaders, SECRET } from '../../api/hooks/use-hooks.ts';
import { eventually } from '../../support/eventually.ts';
import { MayflyProcess } from '../../support/mayfly-process.ts';
import { startServers, startService } from '../../support/start-servers.ts';

/**
 * Promise: with real processes, an event that arrives while the schema check hangs is accepted, and checked by the
 * control worker; an event in transit when the API is stopped is stored and answered. Half a minute.
 */
const closers = new Closers();
const listening = z.object({ url: z.string(), hooksUrl: z.string() });
let state: StateDir;
let env: NodeJS.ProcessEnv;
let mongo: MongoClient;
let api: MayflyProcess;
let at: z.infer<typeof listening>;
let key: string;
let path: string;

beforeAll(async () => {
  const servers = await startServers(closers);
  state = servers.state;
  env = { ...servers.env, MAYFLY_HOOKS_PORT: '0' };
  mongo = await MongoClient.connect(servers.env.MONGODB_URI);
  closers.add('connection', () => mongo.close());
  const made = new MayflyProcess(['key', 'create', 'first', '--scope', 'admin', '--local', '--json'], env);
  key = (JSON.parse(await made.line('"secret"')) as { secret: string }).secret;
  await made.end();
  serve('control');
  serve('host', { MAYFLY_HOST: 'simulated', MAYFLY_HOST_ID: 'served' });
  api = serve('api');
  at = listening.parse(JSON.parse(await api.line('the API listens')));
  await eventually(async () => (await fetch(`${at.url}/readyz`)).ok, true);
  const input = { schema: { type: 'object', required: ['n'] } };
  await call('PUT', '/v1/functions/fn', { source: 'golden-debian12', command: 'true', input });
  await call('POST', '/v1/functions/fn/pause'); // stored events are not run
  path = (await call('POST', '/v1/hooks', { function: 'fn', scheme: 'github', secrets: [SECRET] }))['path'] as string;
});
afterAll(() => closers.close());

const serve = (name: 'api' | 'control' | 'host', more: NodeJS.ProcessEnv = {}) =>
  startService(closers, name, { ...env, ...more, MAYFLY_STATE_DIR: join(state.root, name) });

async function call(method: string, to: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const answer = await fetch(`${at.url}${to}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as Record<string, unknown>;
}

/** Returns the pid of the API's schema checker. */
function validator(): number {
  const of = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const found = of(api.pid).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('validator'));
  expect(found).toHaveLength(1);
  return found[0] as number;
}

test('an event that arrives while its check hangs is checked by the control worker, with a reason', async () => {
  process.kill(validator(), 'SIGSTOP');
  const headers = githubHeaders('{}') as [string, string][];
  const answer = await fetch(`${at.hooksUrl}${path}`, { method: 'POST', body: '{}', headers });
  expect(answer.status).toBe(202);
  const { runId } = (await answer.json()) as { runId: string };
  const run = await eventually(async () => (await call('GET', `/v1/runs/${runId}`)) as unknown as RunRecord, {
    state: 'ended',
  });
  expect(run).toMatchObject({ outcome: 'not-started', failure: { code: 'event_invalid' }, admittedAt: null });
  process.kill(validator(), 'SIGCONT');
});

test('an event in transit when the API is stopped is stored and answered, and new connections are refused', async () => {
  const body = '{"n":1}';
  const port = Number(new URL(at.hooksUrl).port);
  const lines = githubHeaders(body).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines.join('')}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
  socket.write(head);
  expect(await said(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 100 /); // it has arrived up to here
  socket.write(body.slice(0, 3));
  api.send('SIGTERM');
  await eventually(() => isOpen(port), false);
  socket.write(body.slice(3));
  const answer = await said(socket, null);
  expect(answer).toMatch(/^HTTP\/1\.1 202 /);
  const runId = /run-[0-9a-z]+/.exec(answer)?.[0];
  expect(
    await mongo
      .db()
      .collection('runs')
      .countDocuments({ _id: runId as never }),
  ).toBe(1);
  expect(await api.end()).toBe(0);
});

/** Reads a socket. @param until text that ends it; null: until the socket ends */
async function said(socket: Socket, until: string | null): Promise<string> {
  let text = '';
  for (;;) {
    const [piece] = (await Promise.race([once(socket, 'data'), once(socket, 'end')])) as [string?];
    text += piece ?? '';
    if (piece === undefined || (until !== null && text.endsWith(until))) return text;
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
