import { MayflyError } from '../../model/errors.ts';

/** Response headers passed on from a guest, with their allowed values: a guest is untrusted. */
const PASSED_HEADERS: [name: string, pattern: RegExp][] = [
  ['Content-Length', /^\d{1,15}$/],
  ['Content-Range', /^bytes (?:\d{1,15}-\d{1,15}|\*)\/\d{1,15}$/],
  ['Accept-Ranges', /^bytes$/],
  ['ETag', /^"[0-9a-f-]{1,64}"$/],
  ['Last-Modified', /^[A-Za-z]{3}, [0-9A-Za-z :]{10,30}$/],
  ['X-Mayfly-Type', /^[a-z]{1,16}$/],
  ['X-Mayfly-Mode', /^[0-7]{4}$/],
  ['X-Mayfly-Uid', /^\d{1,10}$/],
  ['X-Mayfly-Gid', /^\d{1,10}$/],
  ['X-Mayfly-User', /^[A-Za-z0-9%._~-]{1,256}$/],
  ['X-Mayfly-Group', /^[A-Za-z0-9%._~-]{1,256}$/],
  ['X-Mayfly-Target', /^[A-Za-z0-9%._~/-]{1,12285}$/],
];

/** Returns the response headers of a file. */
export function headersOf(response: Response, contentType: string): Headers {
  const headers = new Headers({
    'Content-Type': contentType,
    // Browsers never render it as a page of the API's origin.
    'Content-Disposition': 'attachment',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'private, no-cache',
  });
  for (const [name, pattern] of PASSED_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null && pattern.test(value)) headers.set(name, value);
  }
  return headers;
}

/** Streams a guest's content, of exactly the announced length. */
export function contentAnswer(response: Response, contentType: string): Response {
  const headers = headersOf(response, contentType);
  const length = headers.get('Content-Length');
  const { body } = response;
  if (!body) return new Response(null, { status: response.status, headers });
  const content = length === null ? body : ReadableStream.from(assertLength(body, Number(length)));
  return new Response(content, { status: response.status, headers });
}

/**
 * Throws when the length differs from the announced one: clients would take missing or surplus bytes for part of this
 * or the next response.
 */
async function* assertLength(
  body: ReadableStream<Uint8Array>,
  length: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let passed = 0;
  for await (const chunk of body) {
    passed += chunk.length;
    if (passed > length) break;
    yield chunk;
  }
  if (passed !== length) throw new MayflyError('guest_failed', `The guest announced ${length} bytes and sent others.`);
}
