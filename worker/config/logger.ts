import { Runtime, type Logger as TemporalLogger } from '@temporalio/worker';
import { type Logger, pino } from 'pino';
import { currentRequestId } from '../../telemetry/request-id.ts';

/** Names of fields that never reach a log. */
const SECRETS = ['*.apiKey', '*.secret', '*.password', '*.token', '*.authorization', 'headers.authorization'];

/** What the SDK warns of and we mean: a host worker runs activities alone. */
const BY_DESIGN = new Set(['No workflows registered, not polling for workflow tasks']);

/** Each line names the request on whose behalf it is written. */
function requestOf(): object {
  const requestId = currentRequestId();
  return requestId === undefined ? {} : { requestId };
}

/** JSON lines on standard error; standard output belongs to the CLI. */
export function createLogger(level: string): Logger {
  return pino({ name: 'mayfly', level, redact: SECRETS, mixin: requestOf }, pino.destination(2));
}

/** Temporal's own messages through the same logger. Once a process, before anything else of Temporal's. */
export function installTemporalRuntime(logger: Logger): TemporalLogger {
  const bridge = temporalLogger(logger);
  Runtime.install({ logger: bridge, shutdownSignals: [] });
  return bridge;
}

function temporalLogger(logger: Logger): TemporalLogger {
  const at = (level: 'trace' | 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: object) =>
    logger[level]({ ...meta }, message);
  return {
    log: (level, message, meta) =>
      at(level.toLowerCase() as 'trace' | 'debug' | 'info' | 'warn' | 'error')(message, meta),
    trace: at('trace'),
    debug: at('debug'),
    info: at('debug'), // a line an activity is for those who debug
    warn: (message, meta) => at(BY_DESIGN.has(message) ? 'debug' : 'warn')(message, meta),
    error: at('error'),
  };
}
