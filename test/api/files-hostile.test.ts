import { describe, expect, it } from 'vitest';
import { listingAnswer } from '../../services/files/directory-listing.ts';
import { contentAnswer } from '../../services/files/file-content.ts';
import { toGuestError } from '../../services/guests.ts';

function streamOf(...chunks: string[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk)));
}

const entry = {
  nameBase64: 'YQ==',
  type: 'file',
  size: 1,
  mode: '0644',
  uid: 0,
  gid: 0,
  user: null,
  group: null,
  mtimeMs: 0,
};

describe('a lying guest', () => {
  it.each([
    ['fewer', ['1234']],
    ['more', ['12345', '6HTTP/1.1 200 OK']],
  ])('that sends %s bytes than announced breaks its own answer', async (_which, chunks) => {
    const answer = contentAnswer(new Response(streamOf(...chunks), { headers: { 'content-length': '5' } }), 'x/y');
    await expect(answer.text()).rejects.toMatchObject({ code: 'guest_failed' });
  });

  it('gets none of its headers through', () => {
    const headers = {
      'content-type': 'text/html',
      'set-cookie': 'a=b',
      'access-control-allow-origin': '*',
      'content-disposition': 'inline',
      etag: 'W/"<script>"',
      'x-mayfly-mode': '0644; x',
      'x-mayfly-user': 'root',
    };
    const answer = contentAnswer(new Response(streamOf('x'), { headers }), 'application/octet-stream');
    expect(Object.fromEntries(answer.headers)).toEqual({
      'cache-control': 'private, no-cache',
      'content-disposition': 'attachment',
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'x-mayfly-user': 'root',
    });
  });

  it.each([
    ['no JSON', 'nonsense\n'],
    ['another type', `${JSON.stringify({ ...entry, type: 'page' })}\n`],
    ['a time out of reach', `${JSON.stringify({ ...entry, mtimeMs: 1e300 })}\n`],
    ...['', '.', '..', '../.ssh/authorized_keys', 'a/b', 'a\0b'].map((name) => [
      `the name ${JSON.stringify(name)}`,
      `${JSON.stringify({ ...entry, nameBase64: Buffer.from(name).toString('base64') })}\n`,
    ]),
    ['no end', JSON.stringify(entry)],
    ['no end, ever', 'x'.repeat(20_000)],
  ])('that sends an entry with %s breaks its own listing', async (_which, text) => {
    const answer = listingAnswer(new Response(streamOf(`${JSON.stringify(entry)}\n`, text)), Buffer.from('/d'));
    await expect(answer.text()).rejects.toMatchObject({ code: 'guest_failed' });
  });

  it('cannot break parsing by splitting an entry at any byte', async () => {
    const lines = `${JSON.stringify({ ...entry, nameBase64: Buffer.from('é\n').toString('base64') })}\n`.repeat(3);
    const whole = await listingAnswer(new Response(streamOf(...lines.split(''))), Buffer.from('/d')).json();
    expect(whole).toMatchObject({ items: Array(3).fill({ name: 'é\n', path: 'd/%C3%A9%0A' }), nextCursor: null });
    expect(await listingAnswer(new Response(null), Buffer.from('/')).json()).toEqual({ items: [], nextCursor: null });
  });

  it('may have files of any size and time that Linux allows', async () => {
    const far = { ...entry, size: 2 ** 63, mtimeMs: 1e17 };
    const text = `${JSON.stringify(far)}\n${JSON.stringify({ ...far, mtimeMs: -far.mtimeMs })}\n`;
    const page = await listingAnswer(new Response(streamOf(text)), Buffer.from('/d')).json();
    expect(page).toMatchObject({
      items: [{ size: 2 ** 63, mtime: '+275760-09-13T00:00:00.000Z' }, { mtime: '-271821-04-20T00:00:00.000Z' }],
    });
  });

  it.each([
    [403, { code: 'unauthenticated', message: 'log in again' }, 'guest_failed'],
    [409, { code: 'file_conflict', message: 'a\u001b[2Jb' }, 'file_conflict'],
    [500, { code: 'no_such_code', message: '' }, 'guest_failed'],
    [500, 'x'.repeat(100_000), 'guest_failed'],
  ])('that refuses (%s) gets its own error code', async (status, body, code) => {
    const error = await toGuestError(new Response(JSON.stringify(body), { status }));
    expect(error.code).toBe(code);
    expect(error.message).not.toMatch(/\p{Cc}/u);
  });
});
