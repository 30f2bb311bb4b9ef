import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { Header } from '../../webhooks/signed-request.ts';
import type { Env } from '../http/context.ts';

/** The headers as they came, names in lower case; two of one name stay two where a server of Node's has read them. */
export function sentHeaders(c: Context<Env>): Header[] {
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage };
  const raw = incoming?.rawHeaders;
  if (!raw) return [...c.req.raw.headers];
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ''] as const] : []));
}

/**
 * The body, piece by piece.
 * @throws MayflyError body_too_large, also for a body that comes in chunks and never said its length
 */
export async function* sentPieces(c: Context<Env>, atMost: number): AsyncGenerator<Uint8Array> {
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
