import { z } from 'zod';
import { FILE_ASPECTS, FILE_TYPES } from '../../model/files/file-change.ts';
import { FileSystemProblem } from './file-system-problem.ts';

/** Longest line accepted: a path of 32 KiB and 1 MiB of extended attributes, encoded, before and after. Characters. */
const MAX_LINE = 8 * 1024 * 1024;

const guestName = z.union([z.string(), z.strictObject({ base64: z.base64() })]);
const count = z.int().nonnegative();
const description = {
  type: z.enum(FILE_TYPES),
  size: count.nullable(),
  mode: z.string().regex(/^[0-7]{4}$/),
  uid: count,
  gid: count,
  mtime: z.iso.datetime(),
  links: count,
  target: guestName.nullable(),
  device: z.tuple([count, count]).nullable(),
  xattrs: z.array(z.strictObject({ name: guestName, value: z.base64() })),
  digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
};
const side = z.strictObject({
  /** UUID of the file system. */
  uuid: z.string().regex(/^[0-9a-f]{32}$/),
  /** `replayed`: changes that were only in the journal are included in the answer; the image stays unchanged. */
  journal: z.enum(['clean', 'replayed']),
  /** Number of names. */
  files: count,
});

const line = z.discriminatedUnion('line', [
  z.strictObject({ line: z.literal('start'), before: side, after: side }),
  z.strictObject({
    line: z.literal('change'),
    change: z.enum(['added', 'changed', 'removed', 'renamed']),
    path: guestName,
    from: guestName.nullable(),
    what: z.array(z.enum(FILE_ASPECTS)),
    ...description,
    before: z.strictObject(description).nullable(),
  }),
  z.strictObject({ line: z.literal('end'), added: count, changed: count, removed: count, renamed: count }),
]);

/** Output line of the diff program: `start`, any number of `change` (a FileChange), and, if complete, `end`. */
export type FileChangeLine = z.infer<typeof line>;

/** @throws FileSystemProblem when the text is not a line of the program's */
export function parseLine(text: string): FileChangeLine {
  try {
    return line.parse(JSON.parse(text));
  } catch (cause) {
    throw new FileSystemProblem('internal', 'mayfly-diff wrote a line that makes no sense.', null, { cause });
  }
}

/** Yields the lines of a stream without their newline. Drops an unterminated last line, as it is incomplete. */
export async function* linesOf(stream: AsyncIterable<string>): AsyncGenerator<string> {
  let begun: string[] = []; // joined once complete: a long line arrives in many pieces
  let length = 0;
  for await (const chunk of stream) {
    const [first = '', ...others] = chunk.split('\n');
    begun.push(first);
    length += first.length;
    for (const next of others) {
      yield begun.join('');
      begun = [next];
      length = next.length;
    }
    if (length > MAX_LINE) throw new FileSystemProblem('internal', 'mayfly-diff wrote a line without end.', null);
  }
}
