import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { MayflyError } from '../../model/errors.ts';
import { DEEPEST_JSON, isTooDeep } from '../../model/events/json/json-text.ts';
import type { App, Env } from './context.ts';
import { hasStreamedBody } from './streamed-body.ts';

/**
 * For every body but those that are streamed.
 * @param except paths that have limits of their own. `@default` none
 * @throws MayflyError body_too_large, also for a body that comes in chunks and never said its length
 */
export function limitBody(bytes: number, except: RegExp | null = null) {
  const onError = () => {
    throw new MayflyError('body_too_large', `The body has more than ${bytes} bytes.`);
  };
  const limit = bodyLimit({ maxSize: bytes, onError });
  return createMiddleware<Env>(async (c, next) => {
    const { method, path } = c.req;
    if (method === 'GET' || method === 'HEAD' || hasStreamedBody(path) || except?.test(path)) return next();
    const length = saidLength(c);
    if (length === null) return limit(c, next);
    return length > bytes ? onError() : next();
  });
}

/** Of a body that says it: the server takes no more of it than that. What limits others makes a stream of each, which costs a millisecond. */
function saidLength(c: Context<Env>): number | null {
  const length = c.req.header('content-length');
  return length === undefined || c.req.header('transfer-encoding') !== undefined ? null : Number(length);
}

const JSON_MEDIA_TYPE = /^application\/json\s*(?:;|$)/i;
/** JSON is UTF-8 (RFC 8259 §8.1), and the media type has no such parameter; saying so is harmless, another is a mistake. */
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** Whether an operation takes JSON: `optional` where an object without members says what none says. */
type Need = 'required' | 'optional' | 'none';

/**
 * Refuses a body that is not JSON before any schema looks at it, where the operation takes JSON. Hono keeps the bytes, so
 * nothing is read twice. No body at all stands for `{}` where that is one.
 */
export class JsonBodies {
  readonly #needs = new Map<string, Need>();

  readonly check = createMiddleware<Env>(async (c, next) => {
    const { method, path } = c.req;
    if ((method !== 'POST' && method !== 'PATCH' && method !== 'PUT') || hasStreamedBody(path)) return next();
    const need = path === '/mcp' ? 'required' : (this.#needs.get(`${method} ${routePath(c, -1)}`) ?? 'none');
    if (need === 'none') return next();
    if (need === 'optional' && (await c.req.arrayBuffer()).byteLength === 0) sayNothing(c);
    else await checkJson(c);
    return next();
  });

  /** When all operations are there, and before the first request: each schema is compiled when it is first asked. */
  know(app: App): void {
    for (const definition of app.openAPIRegistry.definitions) {
      if (definition.type !== 'route') continue;
      const { method, path, request } = definition.route;
      const media = request?.body?.content['application/json'];
      const need = media && 'schema' in media ? needOf(media.schema) : 'none';
      this.#needs.set(`${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, need);
    }
  }
}

function needOf(schema: unknown): Need {
  return schema instanceof z.ZodType && schema.safeParse({}).success ? 'optional' : 'required';
}

/** Has the schema of the operation see an object without members, which gives each its default. */
function sayNothing(c: Context<Env>): void {
  const headers = new Headers(c.req.raw.headers);
  headers.set('Content-Type', 'application/json');
  headers.delete('Content-Length');
  c.req.raw = new Request(c.req.raw, { method: c.req.method, headers, body: '{}' });
  c.req.bodyCache = {};
}

async function checkJson(c: Context<Env>): Promise<void> {
  const type = c.req.header('Content-Type');
  if (!JSON_MEDIA_TYPE.test(type ?? '')) {
    throw new MayflyError('unsupported_media_type', `The body is announced as ${type ? 'something else' : 'nothing'}.`);
  }
  const [, charset = 'utf-8'] = CHARSET.exec(type ?? '') ?? [];
  if (!/^utf-?8$/i.test(charset)) {
    throw new MayflyError('unsupported_media_type', 'The body is announced in another charset than UTF-8.');
  }
  const bytes = await c.req.arrayBuffer(); // one that is cut is no matter of JSON
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'it does not parse' : 'it is not UTF-8';
    throw new MayflyError('invalid_json', `The body is not JSON: ${reason}.`, { cause });
  }
  if (!isTooDeep(text)) return;
  throw new MayflyError('invalid_json', `The body is not taken: more than ${DEEPEST_JSON} brackets are open at once.`);
}
