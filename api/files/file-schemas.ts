import { z } from '@hono/zod-openapi';
import { fileEntry } from '../../services/files/directory-listing.ts';
import { intParam } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

/** Limit of entries, also in go/agent/files/directory.go. */
const MAX_ENTRIES = 10_000;
/** Name or number of a Linux account (useradd(8)). */
const ACCOUNT = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,31}\$?$/;

const account = z.string().regex(ACCOUNT, 'must be the name or the number of an account of the guest').optional();
const flag = z.enum(['true', 'false'], 'must be true or false').optional();

export const fileParams = sandboxParams.extend({
  path: z.string().openapi({
    description:
      'The absolute path without its leading slash, percent-encoded; any bytes but NUL. Slashes may stay as they are; ' +
      'with `.` or `..` among its parts they must be `%2F`, or URL parsers take those parts out. Empty: the root directory.',
    example: 'home/sandbox/a%20file',
  }),
});

export const getFileQuery = z.strictObject({
  format: z.enum(['tar'], 'must be tar').optional().openapi({ description: 'A whole directory as one archive' }),
  limit: intParam(1, MAX_ENTRIES).optional().openapi({ description: 'Entries of a directory; 1000 unless said' }),
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

export const unpackedAnswer = z.object({ entries: z.int().min(0), bytes: z.int().min(0) }).openapi('Unpacked');

/** Response to a PUT: the file, or a summary of the unpacked archive. */
export const writtenAnswer = z.union([fileEntry, unpackedAnswer]);
