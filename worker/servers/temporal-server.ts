import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { temporalBinary } from '../config/artifacts.mjs';
import { freePort, type ServerProcess, serverProcess, startServer } from './server-process.ts';

/** How long a dev server may take on a busy machine until it answers. Milliseconds. */
const READY_MS = 60_000;

/**
 * Settings that take eight steps from 850 ms to 79 ms (facts: temporal §0, trap 3). As shipped, each hop waits for a
 * 50 ms poll slot, and each commit syncs the file twice.
 */
const SETTINGS = [
  ['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
  ['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
  ['--dynamic-config-value', 'matching.numTaskqueueReadPartitions=1'],
  ['--dynamic-config-value', 'matching.numTaskqueueWritePartitions=1'],
  ['--dynamic-config-value', 'system.forceSearchAttributesCacheRefreshOnRead=true'],
  ['--dynamic-config-value', 'frontend.enableServerVersionCheck=false'],
  ['--sqlite-pragma', 'journal_mode=WAL'],
  ['--sqlite-pragma', 'synchronous=NORMAL'],
].flat();

export interface TemporalServerOptions {
  /** Folder for its database and log. */
  dir: string;
  /** The loopback address that all of its ports are on. `@default` 127.0.0.1 */
  ip?: string;
  /** `@default` a free one */
  port?: number;
  /** Port of the web UI; without one there is none. */
  uiPort?: number;
  /** Dynamic configuration of the server, for tests of its limits. `@default` its own */
  limits?: Readonly<Record<string, number>>;
}

/**
 * Starts Temporal's dev server on loopback and waits until it answers.
 * @throws MayflyError temporal_unavailable
 */
export async function startTemporalServer({
  dir,
  ip = '127.0.0.1',
  port,
  uiPort,
  limits = {},
}: TemporalServerOptions): Promise<ServerProcess> {
  const program = temporalBinary();
  if (!program)
    throw new MayflyError('temporal_unavailable', 'There is no Temporal server on this machine; run `npm run setup`.');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const chosen = port ?? (await freePort(ip));
  const address = `${ip}:${chosen}`;
  const attributes = Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]);
  const ui = uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)];
  const args = ['server', 'start-dev', '--ip', ip, '--port', String(chosen), '--log-level', 'warn', ...ui];
  const limited = Object.entries(limits).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]);
  const logFile = join(dir, 'temporal.log');
  const child = startServer(
    program,
    [...args, '--db-filename', join(dir, 'temporal.db'), ...SETTINGS, ...limited, ...attributes],
    logFile,
  );
  child.stdout?.resume();
  const server = serverProcess(child, address, 'the Temporal server');
  await Promise.race([
    answers(address),
    server.died.then((why) => {
      throw new MayflyError('temporal_unavailable', `${why} before it answered; its log is ${logFile}`);
    }),
  ]);
  return server;
}

async function answers(address: string): Promise<void> {
  const connection = Connection.lazy({ address });
  try {
    await connection.withDeadline(Date.now() + READY_MS, async () => {
      await connection.ensureConnected();
      await connection.workflowService.describeNamespace({ namespace: 'default' });
    });
  } catch (cause) {
    throw new MayflyError('temporal_unavailable', `Temporal did not answer at ${address} within ${READY_MS / 1000} s`, {
      cause,
    });
  } finally {
    await connection.close();
  }
}
