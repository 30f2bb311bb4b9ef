import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { storeBinary } from '../../scripts/setup/artifacts.mjs';

export interface StoreServer {
  /** With a database of its own, so that test files can share one real MongoDB. */
  uri: string;
  /** Ends the server as a power cut would; null when it is not ours to end. */
  kill: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

/** A store for one test file: the server that MONGODB_URI names, or else the embedded one on a new folder. */
export async function startStoreServer(): Promise<StoreServer> {
  const database = `test-${process.pid}-${Date.now()}`;
  const given = process.env['MONGODB_URI'];
  if (given) return { uri: withDatabase(given, database), kill: null, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-store-'));
  const child = spawn(await storeBinary(), ['--listen', '127.0.0.1:0', '--dir', folder, '--exit-with-stdin'], {
    stdio: ['pipe', 'pipe', 'inherit'], // an open standard input: it ends with this process, however that ends,
  });
  const kill = () => end(child);
  const uri = withDatabase(await announced(child), database);
  return {
    uri,
    kill,
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function withDatabase(uri: string, database: string): string {
  const url = new URL(uri);
  url.pathname = `/${database}`;
  return url.href;
}

/** The address in the server's first line, `{"uri": "mongodb://127.0.0.1:…"}`. */
async function announced(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the store has no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    const said: unknown = JSON.parse(line);
    if (typeof said === 'object' && said !== null && 'uri' in said && typeof said.uri === 'string') return said.uri;
    if (typeof said === 'object' && said !== null && 'address' in said) return `mongodb://${String(said.address)}`;
  }
  throw new Error('the store ended without announcing its address');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
