import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import { SEARCH_ATTRIBUTES } from '../../model/sagas/messages.ts';
import { temporalBinary } from '../config/artifacts.mjs';
import { getServerGroup, OPEN_ADDRESS } from './loopback-guard.ts';
import { freePort, readLastLine, type ServerProcess, serverProcess, sizeOf, startServer } from './server-process.ts';

/** Relative to the server's folder: its URI would end at a `#`, `?` or `%` of an absolute path. */
const DATABASE = 'temporal.db';

/** Timeout of a dev server's start on a busy machine, ms. */
const READY_MS = 60_000;

/**
 * Settings that cut eight steps from 850 ms to 79 ms (facts: temporal §0, trap 3). By default, each hop waits for a 50
 * ms poll slot, and each commit syncs the file twice.
 */
const SETTINGS = [
  ['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
  ['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
  ['--dynamic-config-value', 'matching.numTaskqueueReadPartitions=1'],
  ['--dynamic-config-value', 'matching.numTaskqueueWritePartitions=1'],
  ['--dynamic-config-value', 'system.forceSearchAttributesCacheRefreshOnRead=true'],
  ['--dynamic-config-value', 'frontend.enableServerVersionCheck=false'],
  // The server does not migrate an older database, which lacks CHASM's tables: it could create no schedules.
  ['--dynamic-config-value', 'history.enableChasm=false'],
  ['--sqlite-pragma', 'journal_mode=WAL'],
  ['--sqlite-pragma', 'synchronous=NORMAL'],
].flat();

interface TemporalServerOptions {
  /** Folder for its database and log. */
  dir: string;
  /** Loopback address of all its ports; any but 127.0.0.1 needs the rules of `guardAddress`. `@default` 127.0.0.1 */
  ip?: string;
  /** `@default` a free one */
  port?: number;
  /** Adds its web UI, on a free port. `@default` false */
  ui?: boolean;
  /** Dynamic configuration of the server, for tests of its limits. `@default` its own */
  limits?: Readonly<Record<string, number | string>>;
}

/** Dev server, and the URL of its web UI; null: it has none. */
interface TemporalServer extends ServerProcess {
  uiUrl: string | null;
}

/**
 * Number of start attempts: another process may take a chosen port before the server, which uses six, binds it, and the
 * server does not always report that.
 */
const STARTS = 3;

/** Starts Temporal's dev server on loopback and waits until it answers. @throws MayflyError temporal_unavailable */
export async function startTemporalServer(options: TemporalServerOptions): Promise<TemporalServer> {
  const program = temporalBinary();
  if (!program)
    throw new MayflyError('temporal_unavailable', 'There is no Temporal server on this machine; run `npm run setup`.');
  await mkdir(options.dir, { recursive: true, mode: 0o700 });
  for (let left = STARTS - 1; ; left--) {
    const started = await start(program, options);
    if (!(started instanceof MayflyError)) return started;
    if (left === 0) throw started;
  }
}

/** @returns the error of a server that ended before it answered */
async function start(
  program: string,
  { dir, ip = OPEN_ADDRESS, port, ui, limits = {} }: TemporalServerOptions,
): Promise<TemporalServer | MayflyError> {
  const chosen = port ?? (await freePort(ip));
  const uiPort = ui ? await freePort(ip) : null;
  const address = `${ip}:${chosen}`;
  const attributes = Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]);
  const args = ['server', 'start-dev', '--ip', ip, '--port', String(chosen), '--log-level', 'warn'];
  const shown = uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)];
  const limited = Object.entries(limits).flatMap(([key, value]) => [
    '--dynamic-config-value',
    `${key}=${JSON.stringify(value)}`,
  ]);
  const logFile = join(dir, 'temporal.log');
  const begin = sizeOf(logFile);
  const child = startServer(
    program,
    [...args, ...shown, '--db-filename', DATABASE, ...SETTINGS, ...limited, ...attributes],
    logFile,
    ip === OPEN_ADDRESS ? undefined : getServerGroup(ip),
  );
  child.stdout?.resume();
  const server = serverProcess(child, address, 'the Temporal server');
  const died = server.died.then(async (why) => {
    const said = await readLastLine(logFile, begin);
    return new MayflyError('temporal_unavailable', `${why} before it answered: ${said}; its log is ${logFile}`);
  });
  try {
    const ended = await Promise.race([answers(address), died]);
    if (ended) return ended;
  } catch (error) {
    await server.stop();
    throw error;
  }
  return { ...server, uiUrl: uiPort === null ? null : `http://${ip}:${uiPort}` };
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
