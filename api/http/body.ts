import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { MayflyError } from '../../model/errors.ts';
import { DEEPEST_JSON, isTooDeep } from '../../model/events/json/json-text.ts';
import type { Env } from './context.ts';

/** Limits a body that is not streamed. @throws MayflyError body_too_large, also for a chunked body without a length */
export function limitBody(bytes: number) {
  const onError = () => {
    throw new MayflyError('body_too_large', `The body has more than ${bytes} bytes.`);
  };
  const limit = bodyLimit({ maxSize: bytes, onError });
  return createMiddleware<Env>(async (c, next) => {
    const length = contentLength(c);
    if (length === null) return limit(c, next);
    return length > bytes ? onError() : next();
  });
}

/**
 * Returns the announced length, to which the server limits the body; null without one. Hono's bodyLimit would turn each
 * body into a stream, which costs 1 ms.
 */
function contentLength(c: Context<Env>): number | null {
  const length = c.req.header('content-length');
  return length === undefined || c.req.header('transfer-encoding') !== undefined ? null : Number(length);
}

const JSON_MEDIA_TYPE = /^application\/json\s*(?:;|$)/i;
/**
 * Charset parameter. JSON is UTF-8 (RFC 8259 §8.1) and its media type has no such parameter: `utf-8` is harmless,
 * another is an error.
 */
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/**
 * Refuses a body that is not JSON before any schema validates it. Hono caches the bytes for the handler.
 * @param isEmptyFine true when an empty body means `{}`
 * @throws MayflyError unsupported_media_type, invalid_json
 */
export function readJson(isEmptyFine = false) {
  return createMiddleware<Env>(async (c, next) => {
    if (isEmptyFine && (await c.req.arrayBuffer()).byteLength === 0) assumeEmptyBody(c);
    else await checkJson(c);
    return next();
  });
}

/** True when an empty body means an object without members. */
export function isOptional(schema: z.ZodType): boolean {
  return schema.safeParse({}).success;
}

/** Replaces an empty body by `{}`, to which the operation's schema adds the defaults. */
function assumeEmptyBody(c: Context<Env>): void {
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
  const bytes = await c.req.arrayBuffer(); // a truncated body throws here
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

/** Cancels the body of a response to HEAD, which Hono drops: an event stream would wait for its reader for ever. */
export const dropBodyOfHead = createMiddleware<Env>(async (c, next) => {
  await next();
  if (c.req.method === 'HEAD') await c.res.body?.cancel();
});
