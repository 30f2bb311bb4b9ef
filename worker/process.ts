import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import { Failpoints } from '../host/failpoints.ts';
import { MayflyError } from '../model/errors.ts';
import { steadyClock } from '../model/steady-clock.ts';
import { connectStore, type Store, type StoreOptions } from '../store/connect.ts';
import type { Unreadable } from '../store/sealed/sealed-fields.ts';
import type { Closers } from './config/closers.ts';
import type { Config } from './config/config.ts';
import { createLogger, installTemporalRuntime } from './config/logger.ts';
import { collectWhenIdle } from './machine/idle-memory.ts';
import { createDataConverter, installationKeys } from './payloads/data-converter.ts';
import type { PayloadKeys } from './payloads/payload-keys.ts';
import { connectTemporal, registerSearchAttributes } from './servers/temporal.ts';
import { logPrograms } from './tracing/programs.ts';
import type { Tracing } from './tracing/trace-parts.ts';
import { openTracing } from './tracing/tracing.ts';

/** Interval between two checks of the clock, ms. */
const CLOCK_EVERY_MS = 1_000;

/** Common resources of every Mayfly process. */
export interface Process {
  config: Config;
  storeUri: string;
  connection: NativeConnection;
  dataConverter: DataConverter;
  keys: PayloadKeys;
  logger: Logger;
  failpoints: Failpoints;
  closers: Closers;
  tracing: Tracing;
}

/**
 * Connects to the store of a process. Each unreadable document costs one line of its log.
 * @throws MayflyError store_unavailable, payload_key_unusable
 */
export function connectProcessStore(
  { storeUri, keys, logger }: Pick<Process, 'storeUri' | 'keys' | 'logger'>,
  audit: Pick<StoreOptions, 'auditKey' | 'auditAnchor'> = {},
): Promise<Store> {
  const onUnreadable = ({ id, problem }: Unreadable) => logger.warn({ id }, problem);
  return connectStore(storeUri, { ...audit, keys, isProcess: true, onUnreadable });
}

/**
 * Connects a process to its servers. `closers` close everything it opens.
 * @param hasControl the control worker runs in it, and creates the keys of the installation if there are none
 */
export async function openProcess(
  config: Config,
  servers: { temporalAddress: string; storeUri: string },
  closers: Closers,
  hasControl: boolean,
): Promise<Process> {
  const logger = createLogger(config.logLevel);
  installTemporalRuntime(logger);
  logPrograms(logger);
  closers.add('clock', watchClock(logger));
  const failpoints = Failpoints.parse(config.failpoints);
  if (failpoints.armed) logger.warn('MAYFLY_FAILPOINTS is set: this process injects faults');
  closers.add('collecting while idle', collectWhenIdle());
  const tracing = await openTracing(config);
  closers.add('traces', () => tracing.close());
  const keys = await installationKeys(config, hasControl);
  const dataConverter = createDataConverter(keys);
  const connection = await connectTemporal(servers.temporalAddress, config.temporalTls);
  closers.add('connection to Temporal', () => connection.close());
  await registerSearchAttributes(connection, config.temporalNamespace);
  return { config, storeUri: servers.storeUri, connection, dataConverter, keys, logger, failpoints, closers, tracing };
}

/** Logs each jump of the wall clock once, even if nothing reads the time. @returns stops it */
function watchClock(logger: Logger): () => Promise<void> {
  steadyClock.onJump = (aheadMs) => logger.warn({ aheadMs }, 'the wall clock jumped; queues go by the monotonic clock');
  const watch = setInterval(() => steadyClock.now(), CLOCK_EVERY_MS).unref();
  return async () => clearInterval(watch);
}

/** Requires the addresses of both servers: a process that runs alone has no other part on this machine. */
export function namedServers(config: Config): { temporalAddress: string; storeUri: string } {
  const { temporalAddress, mongodbUri: storeUri } = config;
  if (!temporalAddress)
    throw new MayflyError('temporal_unavailable', 'TEMPORAL_ADDRESS is not set; a process that runs alone needs it');
  if (!storeUri)
    throw new MayflyError('store_unavailable', 'MONGODB_URI is not set; a process that runs alone needs it');
  return { temporalAddress, storeUri };
}
