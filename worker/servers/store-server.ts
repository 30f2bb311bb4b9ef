import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { connectStore } from '../../store/connect.ts';
import { storeBinary } from '../config/artifacts.mjs';
import { freePort, type ServerProcess, serverProcess, startServer } from './server-process.ts';

const readyLine = z.object({ address: z.string() });

/**
 * Starts a store of our own on loopback: `mongod` where there is one, else the embedded store.
 * @param dir folder for its data and log
 * @returns the process; its `address` is a MongoDB connection string
 * @throws MayflyError store_unavailable
 */
export async function startStoreServer(dir: string): Promise<ServerProcess> {
  const binary = storeBinary();
  if (!binary) throw new MayflyError('store_unavailable', 'There is no store on this machine; run `npm run setup`.');
  await mkdir(join(dir, 'data'), { recursive: true, mode: 0o700 });
  const server =
    binary.kind === 'embedded' ? await startEmbedded(binary.path, dir) : await startMongod(binary.path, dir);
  const store = await connectStore(server.address);
  await store.close();
  return server;
}

async function startEmbedded(program: string, dir: string): Promise<ServerProcess> {
  const logFile = join(dir, 'store.log');
  const args = ['--listen', '127.0.0.1:0', '--dir', join(dir, 'data')];
  const child = startServer(program, args, logFile);
  if (!child.stdout) throw new Error('the embedded store has no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    const { address } = readyLine.parse(JSON.parse(line));
    child.stdout.resume();
    return serverProcess(child, `mongodb://${address}/mayfly`, 'the embedded store');
  }
  throw new MayflyError('store_unavailable', `The embedded store ended before it was ready; its log is ${logFile}`);
}

async function startMongod(program: string, dir: string): Promise<ServerProcess> {
  const port = await freePort();
  const args = ['--bind_ip', '127.0.0.1', '--port', String(port), '--dbpath', join(dir, 'data'), '--quiet'];
  const child = startServer(program, args, join(dir, 'store.log'));
  child.stdout?.resume();
  return serverProcess(child, `mongodb://127.0.0.1:${port}/mayfly`, 'mongod');
}
