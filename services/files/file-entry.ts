import { z } from 'zod';

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
export type FileEntry = z.infer<typeof fileEntry>;
