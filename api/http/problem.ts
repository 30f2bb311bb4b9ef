import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed } from 'hono/method-not-allowed';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ERRORS, MayflyError } from '../../model/errors.ts';
import {
  PROBLEM_TYPE,
  type Problem,
  problemAt,
  RETRY_AFTER_SECONDS,
  type Subjects,
} from '../../services/problems/problem.ts';
import type { App, AppDeps, Env } from './context.ts';

/** Retry-After of a busy sandbox, s; a disk snapshot takes less. */
const BUSY_SECONDS = 2;

/** Describes an error by its entry in the error table and its own message. */
export function problemOf(c: Context<Env>, error: MayflyError, more: Subjects = {}): Problem {
  return problemAt({ instance: c.req.path, requestId: c.get('requestId') }, error, more);
}

export function problemResponse(c: Context<Env>, error: MayflyError, more: Subjects = {}): Response {
  const problem = problemOf(c, error, more);
  const { status, retryable } = problem;
  const usual = error.code === 'sandbox_busy' ? BUSY_SECONDS : RETRY_AFTER_SECONDS;
  if (retryable) c.header('Retry-After', String(error.options.retryAfterSeconds ?? usual));
  if (status === 401) c.header('WWW-Authenticate', 'Bearer realm="mayfly"');
  // A response to HEAD has no body.
  c.header('X-Mayfly-Code', error.code);
  return c.body(JSON.stringify(problem), status as ContentfulStatusCode, {
    'Content-Type': PROBLEM_TYPE,
  });
}

/** Returns the central error handler. */
export function errorHandler({ logger }: Pick<AppDeps, 'logger'>) {
  return (error: Error, c: Context<Env>): Response => {
    const known = hasLeft(error, c)
      ? new MayflyError('request_timeout', 'The client left before its request was whole.')
      : asMayflyError(error);
    const { status } = ERRORS[known.code];
    if (status >= 500) {
      logger.error({ err: error, code: known.code, requestId: c.get('requestId') }, 'request failed');
    }
    return problemResponse(c, known);
  };
}

/** True for a client that disconnected: no failure of the API. */
function hasLeft(error: Error, { req }: Context<Env>): boolean {
  return req.raw.signal.aborted && 'code' in error && error.code === 'ECONNRESET';
}

function asMayflyError(error: Error): MayflyError {
  if (error instanceof MayflyError) return error;
  if (error instanceof HTTPException && error.status === 400) {
    return new MayflyError('invalid_json', 'The body could not be read as JSON.', { cause: error });
  }
  // An unforeseen error may hold anything: the log gets it, not the caller.
  return new MayflyError('internal', 'Something went wrong here that nobody foresaw.', { cause: error });
}

/** Answers `method_not_allowed` with `Allow` for a path of other methods, and `not_found` elsewhere. */
export function refuseUnknownRoutes(app: App): void {
  const refuse = methodNotAllowed<Env>({
    app,
    onMethodNotAllowed(c, methods) {
      const list = methods.sort().join(', ');
      c.header('Allow', list);
      return problemResponse(c, new MayflyError('method_not_allowed', `This path takes ${list}.`));
    },
  });
  app.use(refuse);
  app.notFound((c) => problemResponse(c, new MayflyError('not_found', 'Nothing is at that path.')));
}
