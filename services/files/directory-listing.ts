import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import { filePathInUrl } from '../../model/files/file-path.ts';

const TYPES = ['file', 'directory', 'symlink', 'fifo', 'socket', 'device'] as const;

/** Limit of a file's size and time on Linux, 64 bits: a sparse file of a tmpfs may have any value. */
const MAX_INT64 = 2 ** 63;
const whole = z.number().refine(Number.isInteger).max(MAX_INT64);

/** True for a single name that leads to no other directory. */
function isEntryName(base64: string): boolean {
  const name = Buffer.from(base64, 'base64').toString('latin1');
  return !['', '.', '..'].includes(name) && !/[/\0]/.test(name);
}

/** Entry as the agent sends it; every field is untrusted. */
export const agentEntry = z.object({
  nameBase64: z.base64().max(344).refine(isEntryName),
  type: z.enum(TYPES),
  size: whole.min(0),
  mode: z.string().regex(/^[0-7]{4}$/),
  uid: z.int().min(0),
  gid: z.int().min(0),
  user: z.string().max(256).nullable(),
  group: z.string().max(256).nullable(),
  mtimeMs: whole.min(-MAX_INT64),
  target: z.base64().max(5_464).optional(),
});

export const fileEntry = z
  .object({
    name: z.string().meta({ description: 'What is not UTF-8 in it is shown as U+FFFD' }),
    nameBase64: z.string().optional().meta({ description: 'Its bytes, when it is not UTF-8' }),
    path: z.string().meta({ description: 'As it stands in a URL after `/files/`' }),
    type: z.enum(TYPES),
    size: z.int(),
    mode: z.string(),
    user: z.string().nullable(),
    group: z.string().nullable(),
    uid: z.int(),
    gid: z.int(),
    mtime: z.string().meta({ format: 'date-time' }),
    target: z.string().optional(),
    targetBase64: z.string().optional(),
  })
  .meta({ id: 'FileEntry' });
type FileEntry = z.infer<typeof fileEntry>;

/** Limit of an entry, characters; the longest has 255 bytes of name and 4095 of target, in base64. */
const MAX_LINE_LENGTH = 16_384;
/** Limit of a Date, ECMA-262 §21.4.1.1, ms. */
const LAST_TIME_MS = 8.64e15;
const NEXT = /^[A-Za-z0-9_-]{1,512}$/;

/** Streams a page of a directory as JSON, entry by entry. */
export function listingAnswer(response: Response, directory: Uint8Array): Response {
  const next = response.headers.get('X-Mayfly-Next');
  const nextCursor = next !== null && NEXT.test(next) ? next : null;
  return new Response(ReadableStream.from(jsonOf(response, directory, nextCursor)), {
    headers: { 'Content-Type': 'application/json' },
  });
}

async function* jsonOf(response: Response, directory: Uint8Array, nextCursor: string | null) {
  const encoder = new TextEncoder();
  let before = '{"items":[';
  for await (const lines of linesOf(response.body)) {
    let text = '';
    for (const line of lines) {
      text += before + JSON.stringify(entryView(parseEntry(line), directory));
      before = ',';
    }
    if (text !== '') yield encoder.encode(text);
  }
  const end = `${before === ',' ? '' : before}],"nextCursor":${JSON.stringify(nextCursor)}}`;
  yield encoder.encode(end);
}

/** Yields the complete lines of each chunk. */
async function* linesOf(body: ReadableStream<Uint8Array> | null) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_LENGTH) throw new MayflyError('guest_failed', 'The guest sent an entry without an end.');
    yield lines;
  }
  if (rest !== '') throw new MayflyError('guest_failed', 'The guest ended its listing within an entry.');
}

function parseEntry(line: string): z.infer<typeof agentEntry> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new MayflyError('guest_failed', 'The guest sent an entry that is not JSON.', { cause });
  }
  const entry = agentEntry.safeParse(value);
  if (entry.success) return entry.data;
  throw new MayflyError('guest_failed', 'The guest sent an entry that is none.', { cause: entry.error });
}

/** @param directory the listed path */
export function entryView(entry: z.infer<typeof agentEntry>, directory: Uint8Array): FileEntry {
  const name = Buffer.from(entry.nameBase64, 'base64');
  const path = Buffer.concat([directory, Buffer.from(directory.at(-1) === 0x2f ? '' : '/'), name]);
  const { type, size, mode, user, group, uid, gid } = entry;
  const target = entry.target === undefined ? null : Buffer.from(entry.target, 'base64');
  return {
    name: name.toString('utf8'),
    ...(!isUtf8(name) && { nameBase64: name.toString('base64') }),
    path: filePathInUrl(path),
    type,
    size,
    mode,
    user,
    group,
    uid,
    gid,
    mtime: new Date(Math.min(Math.max(entry.mtimeMs, -LAST_TIME_MS), LAST_TIME_MS)).toISOString(),
    ...(target && { target: target.toString('utf8') }),
    ...(target && !isUtf8(target) && { targetBase64: target.toString('base64') }),
  };
}
