import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { MayflyError } from '../../model/errors.ts';
import type { Env } from './context.ts';
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
  return createMiddleware<Env>((c, next) =>
    hasStreamedBody(c.req.path) || except?.test(c.req.path) ? next() : limit(c, next),
  );
}

/** Standard input is bytes, and so are events; a cancel, a pause, a hibernation, a resume, a redrive and a withdrawal say nothing. */
const NOT_JSON =
  /^\/v1\/(?:sandboxes\/[^/]+\/(?:commands\/[^/]+\/(?:stdin|cancel)|pause|hibernate|resume)|approvals\/[^/]+\/withdraw|images\/[^/]+\/cancel|playbooks\/[^/]+\/cancel|runs\/[^/]+\/(?:cancel|redrive)|hooks\/[^/]+\/(?:disable|enable)|webhook-endpoints\/[^/]+\/(?:rotate|deliveries\/[^/]+\/redeliver)|schedules\/[^/]+\/(?:pause|resume)|functions\/[^/]+\/(?:bulk\/[^/]+\/cancel|runs|runs:batch|invoke|pause|resume|versions\/[^/]+\/activate))$/;

const JSON_MEDIA_TYPE = /^application\/json\s*(?:;|$)/i;
/** JSON is UTF-8 (RFC 8259 §8.1), and the media type has no such parameter; saying so is harmless, another is a mistake. */
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/**
 * Refuses a body that is not JSON before any schema looks at it. Hono keeps the bytes, so nothing is read twice.
 * @throws MayflyError unsupported_media_type, invalid_json
 */
export const requireJson = createMiddleware<Env>(async (c, next) => {
  if (c.req.method !== 'POST' && c.req.method !== 'PATCH' && c.req.method !== 'PUT') return next();
  if (hasStreamedBody(c.req.path) || NOT_JSON.test(c.req.path)) return next();
  const type = c.req.header('Content-Type');
  if (!JSON_MEDIA_TYPE.test(type ?? '')) {
    throw new MayflyError('unsupported_media_type', `The body is announced as ${type ? 'something else' : 'nothing'}.`);
  }
  const [, charset = 'utf-8'] = CHARSET.exec(type ?? '') ?? [];
  if (!/^utf-?8$/i.test(charset)) {
    throw new MayflyError('unsupported_media_type', 'The body is announced in another charset than UTF-8.');
  }
  checkJson(await c.req.arrayBuffer());
  return next();
});

function checkJson(bytes: ArrayBuffer): void {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? 'it does not parse' : 'it is not UTF-8';
    throw new MayflyError('invalid_json', `The body is not JSON: ${reason}.`, { cause });
  }
}
