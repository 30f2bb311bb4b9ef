import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { storeBinary } from '../../worker/config/artifacts.mjs';
import { listen } from './listen.ts';

export interface StoreServer {
  /** URI with its own database, so that test files can share one real MongoDB. */
  uri: string;
  /** Folder of its files; null for an external server. */
  folder: string | null;
  /** Kills the server like a power cut; null for an external one. */
  kill: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

/**
 * Starts the store of one test file: the server of MONGODB_URI, or its own in a new folder. @param within parent of
 * that
 */
export async function startStoreServer(within = tmpdir()): Promise<StoreServer> {
  const database = `test-${process.pid}-${Date.now()}`;
  const given = process.env['MONGODB_URI'];
  if (given) return { uri: withDatabase(given, database), folder: null, kill: null, stop: async () => {} };
  const folder = await mkdtemp(join(within, 'mayfly-store-'));
  const child = await start(folder);
  const kill = () => end(child);
  const stop = async () => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { uri: withDatabase(await announced(child), database), folder, kill, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(folder: string): Promise<ChildProcess> {
  const binary = storeBinary();
  if (!binary) throw new Error('there is no store to test with: run `npm run setup`, or set MONGODB_URI');
  const args =
    binary.kind === 'mongod'
      ? ['--bind_ip', '127.0.0.1', '--port', String(await freePort()), '--dbpath', folder]
      : ['--listen', '127.0.0.1:0', '--dir', folder, '--exit-with-stdin'];
  // Its standard input stays open until the end of this process, however that ends.
  return spawn(binary.path, args, { stdio: ['pipe', 'pipe', 'inherit'] });
}

function withDatabase(uri: string, database: string): string {
  const url = new URL(uri);
  url.pathname = `/${database}`;
  return url.href;
}

/** Returns the address in the embedded store's first line, or the port in mongod's log (JSON lines since 4.4). */
async function announced(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the store has no standard output');
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) {
    const said = JSON.parse(line) as { uri?: string; msg?: string; attr?: { port?: number } };
    const uri = said.uri ?? (said.msg === 'Waiting for connections' ? `mongodb://127.0.0.1:${said.attr?.port}` : null);
    if (!uri) continue;
    child.stdout.resume(); // drains later output: a full pipe would block it
    return uri;
  }
  throw new Error('the store ended without announcing its address');
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await listen(probe);
  const address = probe.address();
  probe.close();
  if (address === null || typeof address === 'string') throw new Error('the system gave no TCP port');
  return address.port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
