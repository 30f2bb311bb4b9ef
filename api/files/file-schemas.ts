import { z } from '@hono/zod-openapi';
import { wholeText } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

/** `agent` bounds it too: go/agent/files/directory.go. */
const MAX_ENTRIES = 10_000;
/** Of an account as Linux has them, by name or by number (useradd(8)). */
const ACCOUNT = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,31}\$?$/;

const account = z.string().regex(ACCOUNT, 'must be the name or the number of an account of the guest').optional();
const flag = z.enum(['true', 'false'], 'must be true or false').optional();

export const fileParams = sandboxParams.extend({
  path: z.string().openapi({
    param: { name: 'path', in: 'path' },
    description:
      'The absolute path without its leading slash, percent-encoded; any bytes but NUL. Slashes may stay as they are; ' +
      'with `.` or `..` among its parts they must be `%2F`, or URL parsers take those parts out. Empty: the root directory.',
    example: 'home/sandbox/a%20file',
  }),
});

export const getFileQuery = z.strictObject({
  format: z.enum(['tar'], 'must be tar').optional().openapi({ description: 'A whole directory as one archive' }),
  limit: wholeText(1, MAX_ENTRIES).optional().openapi({ description: 'Entries of a directory; 1000 unless said' }),
  cursor: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,512}$/, 'must be a nextCursor')
    .optional(),
});

export const getFileHeaders = z.object({
  accept: z.string().max(1_024).optional(),
  range: z.string().max(256).optional().openapi({ example: 'bytes=0-1023' }),
  'if-range': z.string().max(128).optional(),
});

export const putFileQuery = z.strictObject({
  mode: z
    .string()
    .regex(/^[0-7]{3,4}$/, 'must be permission bits in octal, such as 0644')
    .optional(),
  user: account,
  group: account,
  parents: flag,
  keepOwners: flag,
});

export const deleteFileQuery = z.strictObject({ recursive: flag });

const TYPES = ['file', 'directory', 'symlink', 'fifo', 'socket', 'device'] as const;

/** As far as a file's size and time go on Linux, in 64 bits: a sparse file of a tmpfs may have any of them. */
const FARTHEST = 2 ** 63;
const whole = z.number().refine(Number.isInteger).max(FARTHEST);

/** One name, and no way to another directory for who makes a path of it. */
function isEntryName(base64: string): boolean {
  const name = Buffer.from(base64, 'base64').toString('latin1');
  return !['', '.', '..'].includes(name) && !/[/\0]/.test(name);
}

/** As the agent says it; every field is the guest's word. */
export const agentEntry = z.object({
  nameBase64: z.base64().max(344).refine(isEntryName),
  type: z.enum(TYPES),
  size: whole.min(0),
  mode: z.string().regex(/^[0-7]{4}$/),
  uid: z.int().min(0),
  gid: z.int().min(0),
  user: z.string().max(256).nullable(),
  group: z.string().max(256).nullable(),
  mtimeMs: whole.min(-FARTHEST),
  target: z.base64().max(5_464).optional(),
});

export const fileEntry = z
  .object({
    name: z.string().openapi({ description: 'What is not UTF-8 in it is shown as U+FFFD' }),
    nameBase64: z.string().optional().openapi({ description: 'Its bytes, when it is not UTF-8' }),
    path: z.string().openapi({ description: 'As it stands in a URL after `/files/`' }),
    type: z.enum(TYPES),
    size: z.int(),
    mode: z.string(),
    user: z.string().nullable(),
    group: z.string().nullable(),
    uid: z.int(),
    gid: z.int(),
    mtime: z.string().openapi({ format: 'date-time' }),
    target: z.string().optional(),
    targetBase64: z.string().optional(),
  })
  .openapi('FileEntry');

export const unpackedAnswer = z.object({ entries: z.int().min(0), bytes: z.int().min(0) }).openapi('Unpacked');

/** A PUT answers with the file, or with what was unpacked. */
export const writtenAnswer = z.union([fileEntry, unpackedAnswer]);
