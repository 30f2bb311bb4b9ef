import type { ChildProcess } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { connectStore } from '../../store/connect.ts';
import { storeBinary } from '../config/artifacts.mjs';
import { type ServerProcess, serverProcess, startServer } from './server-process.ts';

const readyLine = z.object({ address: z.string() });

/** Maximum length of a Unix socket's path in bytes without its end, `unix(7)`. */
const MAX_SOCKET_PATH = 107;

/**
 * Starts Mayfly's own store: `mongod` if installed, else the embedded store. It listens on a Unix socket in its folder,
 * which only this user can enter: write access to the store allows creating an admin key.
 * @param dir absolute folder for its data, log and socket
 * @returns the process; its `address` is a MongoDB connection string
 * @throws MayflyError store_unavailable
 */
export async function startStoreServer(dir: string): Promise<ServerProcess> {
  const binary = storeBinary();
  if (!binary) throw new MayflyError('store_unavailable', 'There is no store on this machine; run `npm run setup`.');
  const socket = join(dir, 'store.sock');
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH) {
    const why = `${socket} is longer than a socket's path may be, ${MAX_SOCKET_PATH} bytes`;
    throw new MayflyError('store_unavailable', `${why}; choose a shorter MAYFLY_STATE_DIR.`);
  }
  if (/[%?]/.test(dir)) {
    const why = `${dir} has a % or a ?, which clients of a store take for a part of its address`;
    throw new MayflyError('store_unavailable', `${why}; choose a MAYFLY_STATE_DIR without, or set MONGODB_URI.`);
  }
  await mkdir(join(dir, 'data'), { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700); // an existing folder may have another mode
  const start = binary.kind === 'embedded' ? startEmbedded : startMongod;
  const server = serverProcess(
    await start(binary.path, dir, socket),
    `mongodb://${encodeURIComponent(socket)}/mayfly`,
    binary.kind === 'embedded' ? 'the embedded store' : 'mongod',
  );
  const store = await connectStore(server.address);
  await store.close();
  return server;
}

async function startEmbedded(program: string, dir: string, socket: string): Promise<ChildProcess> {
  const logFile = join(dir, 'store.log');
  const child = startServer(program, ['--socket', socket, '--dir', join(dir, 'data')], logFile);
  if (!child.stdout) throw new Error('the embedded store has no standard output');
  for await (const line of createInterface({ input: child.stdout })) {
    readyLine.parse(JSON.parse(line));
    child.stdout.resume();
    return child;
  }
  throw new MayflyError('store_unavailable', `The embedded store ended before it was ready; its log is ${logFile}`);
}

/**
 * Binds mongod to a path alone: then it listens on no port, nor on its usual socket in /tmp (MongoDB manual,
 * `net.bindIp`).
 */
async function startMongod(program: string, dir: string, socket: string): Promise<ChildProcess> {
  const args = ['--bind_ip', socket, '--filePermissions', '0700', '--dbpath', join(dir, 'data'), '--quiet'];
  const child = startServer(program, args, join(dir, 'store.log'));
  child.stdout?.resume();
  return child;
}
