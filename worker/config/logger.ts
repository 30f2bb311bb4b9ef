import { Runtime, type Logger as TemporalLogger } from '@temporalio/worker';
import { type DestinationStream, type Logger, type LoggerOptions, pino, stdSerializers } from 'pino';
import { redact, redactText } from '../../model/redaction/redact.ts';
import { currentRequestId } from '../../store/audit/request-id.ts';

/** SDK warnings about intended states: a host worker runs activities alone. */
const BY_DESIGN = new Set(['No workflows registered, not polling for workflow tasks']);

/** Adds the id of the request on whose behalf a line is written. */
function requestOf(): object {
  const requestId = currentRequestId();
  return requestId === undefined ? {} : { requestId };
}

/**
 * Logs JSON lines to standard error, or readable lines if that is a terminal; standard output belongs to the CLI.
 * @param to `@default` standard error
 */
export function createLogger(level: string, to: DestinationStream = standardError()): Logger {
  return pino({ name: 'mayfly', level, mixin: requestOf, ...WITHOUT_SECRETS }, to);
}

function standardError(): DestinationStream {
  if (!process.stderr.isTTY) return pino.destination(2);
  return { write: (line) => void process.stderr.write(lineForPerson(line)) };
}

/** @param line of JSON; strings stay JSON-escaped, so nothing in them moves a cursor */
export function lineForPerson(line: string): string {
  const { level, time, msg = '', name: _name, pid: _pid, hostname: _host, err, ...rest } = JSON.parse(line);
  const why = err?.message === undefined ? [] : [JSON.stringify(err.message)];
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const said = JSON.stringify(msg).slice(1, -1);
  return `${[new Date(time).toISOString().slice(11, 19), pino.levels.labels[level], said, ...fields, ...why].join(' ')}\n`;
}

/** Redacts all log fields, also the causes of errors: they quote guests, callers and programs. */
const WITHOUT_SECRETS: Pick<LoggerOptions, 'formatters' | 'serializers' | 'hooks'> = {
  formatters: { log: redactFields },
  serializers: { err: (error: unknown) => redact(error instanceof Error ? stdSerializers.err(error) : error) },
  hooks: {
    logMethod(args, method) {
      const [first, ...rest] = args.map((each) => (typeof each === 'string' ? redactText(each) : each));
      // Without a message pino takes the error's.
      const error = first instanceof Error ? first : Object(first).err;
      const message = rest.length === 0 && error instanceof Error ? [redactText(error.message)] : rest;
      method.apply(this, [first, ...message] as typeof args);
    },
  },
};

/** Redacts all fields but errors, which their serializer redacts. */
function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  const errors = Object.entries(fields).filter(([, value]) => value instanceof Error);
  return { ...redact(fields), ...Object.fromEntries(errors) };
}

/** Routes Temporal's own messages to the same logger. Call once per process, before anything else of Temporal's. */
export function installTemporalRuntime(logger: Logger): TemporalLogger {
  const bridge = temporalLogger(logger);
  // Otherwise the SDK's native half prints coloured lines of its own, past the logger and its redaction.
  Runtime.install({ logger: bridge, shutdownSignals: [], telemetryOptions: { logging: { forward: {} } } });
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
    info: at('debug'), // one line per activity is for debugging
    warn: (message, meta) => at(BY_DESIGN.has(message) ? 'debug' : 'warn')(message, meta),
    error: at('error'),
  };
}
