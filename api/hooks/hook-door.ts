import type { IncomingMessage } from 'node:http';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { requestId } from 'hono/request-id';
import { MayflyError } from '../../model/errors.ts';
import { HookEndpoint } from '../../services/hooks/hook-door.ts';
import type { EventIntake } from '../../services/intake/acceptance.ts';
import type { Header } from '../../services/webhooks/signing/verdict.ts';
import { runWithRequestId } from '../../store/audit/request-id.ts';
import { dropBodyOfHead } from '../http/body.ts';
import { type App, type AppDeps, type Env, open } from '../http/context.ts';
import { errorHandler, refuseUnknownRoutes } from '../http/problem.ts';
import { measureRequests } from '../monitoring/health.ts';

export const HOOK_PATH = '/h/:hookId';

/**
 * Serves signed events from outside, without any other path of the API, so that another app can serve them at its own
 * port.
 */
export function hookEndpointRoutes(
  app: App,
  deps: Pick<AppDeps, 'store' | 'logger' | 'hookAnswerMs'>,
  acceptance: EventIntake,
  door = new HookEndpoint(deps, acceptance),
): void {
  app.post(HOOK_PATH, open, async (c) => {
    const pieces = sentPieces(c, door.limits.bodyBytes);
    const { status, body } = await door.take({ hookId: c.req.param('hookId'), headers: sentHeaders(c), pieces });
    return c.json(body, status);
  });
  app.options(HOOK_PATH, async (c) => {
    const known = await door.find(c.req.param('hookId'));
    return c.body(null, 200, handshakeHeaders(c, known?.hook.allowedOrigins ?? [], door.limits.requestsPerSecond));
  });
}

/**
 * Answers the handshake of CloudEvents, "HTTP 1.1 Web Hooks" §4.2. Refused origins and unknown hooks get only the
 * methods.
 * @param allowed origins; `*`: any
 */
function handshakeHeaders(c: Context<Env>, allowed: readonly string[], requestsPerSecond: number) {
  const methods = { Allow: 'OPTIONS, POST' };
  const origin = c.req.header('WebHook-Request-Origin');
  if (origin === undefined || !(allowed.includes('*') || allowed.includes(origin))) return methods;
  return {
    ...methods,
    'WebHook-Allowed-Origin': origin,
    'WebHook-Allowed-Rate': String(requestsPerSecond * 60),
  };
}

/** Returns the headers as received, names in lower case. Repetitions stay separate behind Node's server. */
function sentHeaders(c: Context<Env>): Header[] {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage };
  const raw = incoming?.rawHeaders;
  if (!raw) return [...c.req.raw.headers];
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ''] as const] : []));
}

/** Yields the body, piece by piece. @throws MayflyError body_too_large, also for a chunked body without a length */
async function* sentPieces(c: Context<Env>, atMost: number): AsyncGenerator<Uint8Array> {
  if (Number(c.req.header('Content-Length') ?? 0) > atMost) throw tooLarge(atMost);
  const reader = c.req.raw.body?.getReader();
  if (!reader) return;
  let bytes = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length;
    if (bytes > atMost) throw tooLarge(atMost);
    yield read.value;
  }
}

function tooLarge(atMost: number): MayflyError {
  return new MayflyError('body_too_large', `The body has more than ${atMost} bytes.`);
}

type Deps = Pick<AppDeps, 'store' | 'logger' | 'traceRequest' | 'hookAnswerMs'> & Required<Pick<AppDeps, 'metrics'>>;

/** Creates an app of hooks alone, for a port of their own: every other path is not found, with or without a key. */
export function createHookApp(deps: Deps, acceptance: EventIntake): App {
  const app: App = new OpenAPIHono<Env>();
  app.use(requestId());
  app.use((c, next) => runWithRequestId(c.get('requestId'), next));
  if (deps.traceRequest) app.use(deps.traceRequest);
  app.use(measureRequests(deps.metrics));
  app.use(dropBodyOfHead);
  app.onError(errorHandler(deps));
  refuseUnknownRoutes(app);
  hookEndpointRoutes(app, deps, acceptance);
  return app;
}
