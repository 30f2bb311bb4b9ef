import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readdir, readFile, stat } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { Duplex, type Readable, type Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AgentProcess } from './agent-process.ts';

type Relay = ChildProcessByStdio<Writable, Readable, null>;

let agent: AgentProcess;
let version: string;

beforeAll(async () => {
  agent = await AgentProcess.start();
  const { body } = await agent.request('GET', '/v1/health');
  version = (JSON.parse(body.toString()) as { version: string }).version;
});
afterAll(() => agent.stop());

function relay(own: string[] = ['--version', version]): Relay {
  return spawn(agent.program, ['connect', ...own, ...agent.options], { stdio: ['pipe', 'pipe', 'inherit'] });
}

function session(child: Relay): ClientHttp2Session {
  const channel = Duplex.from({ readable: child.stdout, writable: child.stdin });
  const client = connect('http://agent', { createConnection: () => channel });
  client.on('error', () => {}); // each request has its own error
  return client;
}

async function health(client: ClientHttp2Session): Promise<unknown> {
  const stream = client.request({ ':path': '/v1/health' });
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

describe('connect', () => {
  test('carries HTTP/2 over its standard streams, and ends with them', async () => {
    const child = relay();
    const client = session(child);
    expect(await health(client)).toEqual({
      version,
      bootId: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
      commandsRunning: 0,
      now: expect.any(String),
    });
    const ended = once(child, 'exit');
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
  });

  test('ends when the daemon is killed, and reaches its successor', async () => {
    const child = relay();
    await health(session(child));
    const ended = once(child, 'exit');
    await agent.kill();
    await ended;
    await agent.restart();
    const next = relay();
    expect(await health(session(next))).toMatchObject({ version });
    next.kill();
  });

  test('of another version is refused with status 3, before any start', async () => {
    const child = spawn(agent.program, ['connect', '--version', 'other', '--socket', join(agent.folder, 'none', 's')], {
      stdio: 'ignore',
    });
    expect(await once(child, 'exit')).toEqual([3, null]);
    await expect(access(join(agent.folder, 'none'))).rejects.toThrow('ENOENT');
  });

  test('starts a single daemon for concurrent callers where none runs; it outlives them', async () => {
    await agent.kill();
    const clients = [relay(), relay(), relay()];
    const answers = await Promise.all(clients.map((child) => health(session(child))));
    expect(answers).toHaveLength(3);
    for (const child of clients) child.stdin.end();
    await Promise.all(clients.map((child) => once(child, 'exit')));
    const daemons = await daemonsOf(agent.socket);
    expect(daemons).toHaveLength(1);
    for (const pid of daemons) process.kill(pid, 'SIGTERM');
    await expect.poll(() => daemonsOf(agent.socket)).toEqual([]);
    await agent.restart();
  });

  test('the socket and the state are private', async () => {
    expect((await stat(agent.socket)).mode & 0o777).toBe(0o660);
    expect((await stat(join(agent.folder, 'state', 'commands'))).mode & 0o777).toBe(0o700);
  });
});

async function daemonsOf(socket: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of (await readdir('/proc')).filter((one) => /^\d+$/.test(one))) {
    const args = (await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (args.includes('serve') && args.includes(socket)) found.push(Number(name));
  }
  return found;
}
