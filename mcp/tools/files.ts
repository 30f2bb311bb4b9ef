import { z } from 'zod';
import type { FileEntry } from '../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { toVisibleText } from '../../model/approvals/visible-text.ts';
import { REDACTED } from '../../model/redaction/span.ts';
import { fittingPage, MAX_CHARS } from '../lib/bounded.ts';
import { firstBytes, readPart } from '../lib/byte-part.ts';
import { ToolError } from '../lib/error-text.ts';
import { CURSOR, moreLines, omitUndefined, type Registration, SANDBOX, tool } from '../lib/tool.ts';

export const PATH = z.string().regex(/^\//).describe('Absolute');

interface Written {
  sandboxId: string;
  path: string;
  content: Uint8Array;
  signal: AbortSignal;
}

/** Refuses to overwrite a secret with its mask. @throws ToolError */
async function refuseRedacted(client: MayflyClient, { sandboxId, path, content, signal }: Written): Promise<void> {
  if (!Buffer.from(content).includes(REDACTED)) return;
  const present = await bytesAt(client, { sandboxId, path, signal });
  if (present === null || present.includes(REDACTED)) return;
  throw new ToolError(
    `The content has ${REDACTED}, and ${path} has none: that is what was shown in the place of a secret. Nothing was written.`,
    'Read the file with mask false, or change the one place with edit_file.',
  );
}

/** Reads a whole file; null when there is none. */
async function bytesAt(
  client: MayflyClient,
  { sandboxId, path, signal }: Omit<Written, 'content'>,
): Promise<Buffer | null> {
  try {
    const { body } = await client.files.read(sandboxId, path, { signal });
    const parts: Uint8Array[] = [];
    let length = 0;
    for await (const part of body) {
      parts.push(part);
      length += part.length;
      if (length > MAX_BYTES)
        throw new ToolError(`${path} has more than ${MAX_BYTES} bytes.`, 'Change it by a command.');
    }
    return Buffer.concat(parts);
  } catch (error) {
    if (error instanceof MayflyApiError && error.code === 'file_not_found') return null;
    throw error;
  }
}

/** Maximum size of a file read completely. */
const MAX_BYTES = 16_777_216;

const MAX_STRING = 1_048_576;

const editFile = tool({
  name: 'edit_file',
  title: 'Edit a file',
  description: 'Replace oldString, which is there once, by newString. All other bytes stay.',
  input: z.object({
    sandboxId: SANDBOX,
    path: PATH,
    oldString: z.string().min(1).max(MAX_STRING),
    newString: z.string().max(MAX_STRING),
    replaceAll: z.boolean().default(false),
  }),
  output: z.object({ path: z.string(), size: z.number(), replaced: z.number() }),
  effect: 'destroys',
  async run({ client, signal }, { sandboxId, path, oldString, newString, replaceAll }) {
    const before = await bytesAt(client, { sandboxId, path, signal });
    if (before === null) throw new ToolError(`There is no ${path}.`, 'Make it with write_file.');
    const [old, replacement] = [Buffer.from(oldString), Buffer.from(newString)];
    const places = findOffsets(before, old);
    if (places.length === 0) {
      const next = 'Read it, and give the text as it is, with its line ends and blanks.';
      throw new ToolError(`${path} does not have that oldString. Nothing was written.`, next);
    }
    if (places.length > 1 && !replaceAll) {
      const why = `${path} has that oldString ${places.length} times. Nothing was written.`;
      throw new ToolError(why, 'Give more of what is around it, or replaceAll true.');
    }
    const content = replaceAt(before, places, old.length, replacement);
    await refuseRedacted(client, { sandboxId, path, content, signal });
    const { size } = await client.files.write(sandboxId, path, content, { signal });
    const times = places.length === 1 ? 'one place' : `${places.length} places`;
    return {
      text: `${path} is changed in ${times} and has ${size} bytes now.`,
      data: { path, size, replaced: places.length },
    };
  },
});

/** Returns the offsets of matches that do not overlap. */
function findOffsets(bytes: Buffer, wanted: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function replaceAt(bytes: Buffer, places: readonly number[], length: number, replacement: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const at of places) {
    parts.push(bytes.subarray(from, at), replacement);
    from = at + length;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

export const editTools: Registration[] = [editFile];

/** Maximum characters of one call of write_file. */
const MAX_CONTENT = 1_048_576;

const readFile = tool({
  name: 'read_file',
  title: 'Read a file',
  description: 'Read a part of a file, byte for byte: as text, or as base64 where it is not UTF-8.',
  input: z.object({
    sandboxId: SANDBOX,
    path: PATH,
    offset: z.int().min(0).default(0).describe('Bytes'),
    maxBytes: z.int().min(1).max(50_000).default(10_000),
    mask: z.boolean().default(false).describe('Replace what looks like a secret'),
  }),
  output: z.object({
    path: z.string(),
    size: z.number().nullable(),
    text: z.string().optional(),
    base64: z.string().optional(),
    masked: z.boolean().describe('Not as it is in the file'),
    nextOffset: z.number().nullable().describe('null: that was all'),
  }),
  effect: 'reads',
  async run({ client, signal }, { sandboxId, path, offset, maxBytes, mask }) {
    const file: { size: number | null } = { size: null };
    const part = await readPart(
      async ({ from, to }) => {
        const { body, first, total } = await client.files.read(sandboxId, path, { first: from, last: to - 1, signal });
        file.size = total;
        return (await firstBytes(body, to - first)).subarray(from - first);
      },
      { from: offset, to: offset + maxBytes },
    );
    const { size } = file;
    if (size !== null && offset > 0 && offset >= size) {
      throw new ToolError(`${path} has ${size} bytes.`, 'Read it from a smaller offset.');
    }
    // A part smaller than a character, or with invalid UTF-8, is sent as bytes.
    const isText = part.isText && (part.to > offset || part.bytes.length === 0);
    const shown = mask ? part.text : part.exact;
    const content = isText ? { text: shown } : { base64: Buffer.from(part.bytes).toString('base64') };
    const masked = isText && shown !== part.exact;
    const end = isText ? part.to : offset + part.bytes.length;
    const isAll = part.bytes.length < maxBytes || end === size;
    const nextOffset = isAll ? null : end;
    const more = isAll ? '' : `\n[bytes ${offset} to ${end} of ${size ?? 'unknown'}; go on with offset ${end}]`;
    const note = masked ? '\n[masked: this is not what is in the file; do not write it back]' : '';
    const text = content.text ?? `base64: ${content.base64}`;
    return { text: `${text}${more}${note}`, data: { path, size, ...content, masked, nextOffset } };
  },
});

const writeFile = tool({
  name: 'write_file',
  title: 'Write a file',
  description: 'Replace a file of a sandbox, or make it, with its directories. All of its content at once.',
  input: z.object({
    sandboxId: SANDBOX,
    path: PATH,
    text: z.string().max(MAX_CONTENT).optional(),
    base64: z.base64().max(MAX_CONTENT).optional().describe('Instead of text'),
    mode: z
      .string()
      .regex(/^[0-7]{3,4}$/)
      .optional()
      .describe('Octal; default what it had, else 0644'),
  }),
  output: z.object({ path: z.string(), size: z.number(), mode: z.string(), user: z.string().nullable() }),
  effect: 'destroys',
  isIdempotent: true,
  async run({ client, signal }, { sandboxId, path, text, base64, mode }) {
    if ((text === undefined) === (base64 === undefined)) {
      throw new ToolError('One of text and base64 is the content.', 'Send the call again with one of them.');
    }
    const content = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
    await refuseRedacted(client, { sandboxId, path, content, signal });
    const options = { ...omitUndefined({ mode }), parents: true, signal };
    const { size, mode: set, user } = await client.files.write(sandboxId, path, content, options);
    return { text: `${path} has ${size} bytes now, mode ${set}.`, data: { path, size, mode: set, user } };
  },
});

const listFiles = tool({
  name: 'list_files',
  title: 'List a directory',
  description: 'List a directory of a sandbox, by name.',
  input: z.object({
    sandboxId: SANDBOX,
    path: PATH,
    limit: z.int().min(1).max(1_000).default(200),
    cursor: CURSOR,
    maxChars: MAX_CHARS,
  }),
  output: z.object({
    items: z.array(
      z.object({
        name: z.string(),
        type: z.string(),
        size: z.number(),
        mode: z.string(),
        mtime: z.string(),
        target: z.string().optional(),
      }),
    ),
    nextCursor: z.string().nullable(),
  }),
  effect: 'reads',
  async run({ client, signal }, { sandboxId, path, limit, cursor, maxChars }) {
    const pageOf = (most: number) =>
      client.files.list(sandboxId, path, { ...omitUndefined({ cursor }), limit: most, signal });
    const { items, nextCursor } = await fittingPage(pageOf, limit, { of: entry, lineOf, maxChars });
    const text = [...items.map(lineOf), ...moreLines(nextCursor)].join('\n') || 'It is empty.';
    return { text, data: { items, nextCursor } };
  },
});

function entry({ name, type, size, mode, mtime, target }: FileEntry) {
  return { name, type, size, mode, mtime, ...(target !== undefined && { target }) };
}

function lineOf({ name, type, size, mode, target }: ReturnType<typeof entry>): string {
  const to = target === undefined ? '' : ` -> ${toVisibleText(target)}`;
  return `${mode} ${type} ${size} ${toVisibleText(name)}${to}`;
}

export const fileTools: Registration[] = [readFile, writeFile, listFiles];
