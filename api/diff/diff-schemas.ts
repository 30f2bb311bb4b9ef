import { z } from '@hono/zod-openapi';
import { FILE_ASPECTS, FILE_TYPES } from '../../model/files/file-change.ts';
import { COMPARISON_KINDS } from '../../model/files/file-comparison.ts';
import { ID_PATTERNS, isSnapshotId } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { idSchema } from '../../model/request-fields.ts';
import { commandRecord } from '../../model/sandbox/command.ts';
import { CURRENT } from '../../services/diff/comparison.ts';
import { instant, intParam, problemAnswer } from '../http/schemas.ts';

const { changes, paths } = LIMITS.diff;
const path = z.string().min(1, 'must be absolute').openapi({ pattern: '^/[^\\u0000]*$', example: '/etc' });

export const diffParams = z.strictObject({
  a: idSchema('snapshot'),
  b: z
    .string()
    .refine((id) => id === CURRENT || isSnapshotId(id), 'is neither a snapshot id nor `current`')
    .openapi({
      pattern: `^${CURRENT}$|${ID_PATTERNS.snapshot}`,
      description: 'Another snapshot of the same host; `current`: what the sandbox of `a` holds now.',
      example: CURRENT,
    }),
});

export const diffQuery = z
  .strictObject({
    path: z
      .union([path, z.array(path).max(paths.max, `may be given at most ${paths.max} times`)])
      .optional()
      .openapi({ description: 'Only this file or folder and what is below it: absolute, percent-encoded bytes.' }),
    file: path.optional().openapi({
      description: 'Compare the text of this one regular file: absolute, percent-encoded bytes.',
    }),
    format: z.enum(['json', 'ndjson', 'tar'], 'must be json, ndjson or tar').optional(),
    limit: intParam(changes.min, changes.max).optional(),
  })
  .superRefine(({ path: within, file, format, limit }, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (file !== undefined && within !== undefined) refuse('path', 'may not be given together with file');
    if (file !== undefined && (format ?? 'json') !== 'json') refuse('format', 'must be json for one file');
    if (limit !== undefined && (file !== undefined || (format ?? 'json') !== 'json')) {
      refuse('limit', 'is only for a JSON list of changes');
    }
  });

const guestName = z.union([z.string(), z.object({ base64: z.string() })]).openapi('GuestName', {
  description: 'Text where the bytes are UTF-8, which may hold newlines and escape codes; else base64.',
});
/** Nullable in the OpenAPI document as well: `nullable()` would lose the null of a named schema. */
const guestNameOrNull = z.union([guestName, z.null()]);
const description = {
  type: z.enum(FILE_TYPES),
  size: z.int().nullable(),
  mode: z.string(),
  uid: z.int(),
  gid: z.int(),
  mtime: instant,
  links: z.int(),
  target: guestNameOrNull,
  device: z.array(z.int()).nullable(),
  xattrs: z.array(z.object({ name: guestName, value: z.string() })),
  digest: z.string().nullable(),
};
const change = z
  .object({
    change: z.enum(['added', 'changed', 'removed', 'renamed']),
    path: guestName,
    from: guestNameOrNull,
    what: z.array(z.enum(FILE_ASPECTS)),
    ...description,
    before: z.object(description).nullable(),
  })
  .openapi('FileChange', { description: 'The later state, or the last one of what was removed.' });
const counts = z.object({ added: z.int(), changed: z.int(), removed: z.int(), renamed: z.int() });

const commandsBetween = z
  .object({
    items: z.array(
      z.object({
        id: z.string(),
        sandboxId: z.string(),
        command: z.string().nullable(),
        argv: z.array(z.string()).nullable(),
        state: commandRecord.shape.state,
        outcome: commandRecord.shape.outcome,
        exitCode: z.int().nullable(),
        signal: z.string().nullable(),
        startedAt: instant.nullable(),
        endedAt: instant.nullable(),
      }),
    ),
    isCut: z.boolean(),
    unknown: z.string().nullable(),
  })
  .openapi('CommandsBetween', {
    description: `Oldest first; \`isCut\`: only the first ${LIMITS.diff.commands}. \`unknown\`: why it cannot be said which ran.`,
  });

const side = z
  .object({ snapshotId: z.string().nullable(), sandboxId: z.string(), savedAt: instant })
  .openapi('ComparedState', { description: '`snapshotId`: null for the present state.' });

export const diffAnswer = z
  .object({
    before: side,
    after: side,
    counts,
    changes: z.array(change),
    isCut: z.boolean(),
    commands: commandsBetween,
  })
  .openapi('Diff', { description: '`counts` are of all changes; `isCut`: not all of them are in `changes`.' });

export const diffLine = z
  .discriminatedUnion('line', [
    z.object({ line: z.literal('start'), before: side, after: side, commands: commandsBetween }),
    change.extend({ line: z.literal('change') }),
    counts.extend({ line: z.literal('end') }),
    z.object({ line: z.literal('error'), problem: problemAnswer }),
  ])
  .openapi('DiffLine', { description: 'The last line is `end`, or `error`: then something is missing.' });

const fileSide = z.object({ size: z.int() }).nullable();
export const fileAnswer = z
  .object({
    path: guestName,
    before: fileSide,
    after: fileSide,
    kind: z.enum(COMPARISON_KINDS),
    diff: z.string().nullable(),
  })
  .openapi('FileDiff', {
    description: `\`diff\`: of \`text\`, in the unified format. \`too-large\`: more than ${LIMITS.diff.fileBytes} bytes.`,
  });
