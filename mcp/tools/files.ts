import { z } from 'zod';
import type { FileEntry } from '../../client/files.ts';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { cleanText, maskPart } from '../clean-text.ts';
import { ToolError } from '../error-text.ts';
import { CURSOR, type Registration, SANDBOX, tool } from '../tool.ts';

const PATH = z.string().regex(/^\//).describe('Absolute');
/** What is read around a part, as of output. Bytes. */
const AROUND = 8_192;
/** Of one call of write_file. Characters. */
const MAX_CONTENT = 1_048_576;

const readFile = tool({
  name: 'read_file',
  title: 'Read a file',
  description: 'Read a part of a file of a sandbox: as text, or as base64 where it is not UTF-8.',
  input: z.object({
    sandbox: SANDBOX,
    path: PATH,
    offset: z.int().min(0).default(0).describe('Bytes'),
    maxBytes: z.int().min(1).max(50_000).default(10_000),
  }),
  output: z.object({
    path: z.string(),
    size: z.number().nullable(),
    text: z.string().optional(),
    base64: z.string().optional(),
    nextOffset: z.number().nullable().describe('null: that was all'),
  }),
  effect: 'reads',
  async run({ client, signal }, { sandbox, path, offset, maxBytes }) {
    const { size } = await client.files.stat(sandbox, path, { signal });
    if (size !== null && offset > 0 && offset >= size) {
      throw new ToolError(`${path} has ${size} bytes.`, 'Read it from a smaller offset.');
    }
    const start = Math.max(0, offset - AROUND);
    const bytes =
      size === 0 ? Buffer.alloc(0) : await bytesOf(client, sandbox, path, start, offset + maxBytes + AROUND, signal);
    const [from, to] = [offset - start, Math.min(bytes.length, offset - start + maxBytes)];
    const part = bytes.subarray(from, to);
    const read = start + to;
    const nextOffset = size !== null && read >= size ? null : read;
    const decoded = textOf(bytes, from, to);
    const content = decoded === null ? { base64: part.toString('base64') } : { text: decoded };
    const more =
      nextOffset === null
        ? ''
        : `\n[bytes ${offset} to ${read} of ${size ?? 'unknown'}; go on with offset ${nextOffset}]`;
    const text = decoded ?? `base64: ${content.base64}`;
    return { text: `${text}${more}`, data: { path, size, ...content, nextOffset } };
  },
});

async function bytesOf(
  client: MayflyClient,
  sandbox: string,
  path: string,
  first: number,
  end: number,
  signal: AbortSignal,
) {
  const { body } = await client.files.read(sandbox, path, { first, last: end - 1, signal });
  return Buffer.from(await new Response(body).arrayBuffer());
}

/** Null where it is not text. A character that a part cuts is left to the other part. */
function textOf(bytes: Uint8Array, from: number, to: number): string | null {
  const decoder = new TextDecoder();
  const [before, part, after] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
  const text = decoder.decode(part);
  const edges = text.slice(4, -4);
  if (edges.includes('\ufffd') || part.includes(0)) return null;
  return maskPart(decoder.decode(before), text, decoder.decode(after));
}

const writeFile = tool({
  name: 'write_file',
  title: 'Write a file',
  description: 'Replace a file of a sandbox, or make it, with its directories. All of its content at once.',
  input: z.object({
    sandbox: SANDBOX,
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
  async run({ client, signal }, { sandbox, path, text, base64, mode }) {
    if ((text === undefined) === (base64 === undefined)) {
      throw new ToolError('One of text and base64 is the content.', 'Send the call again with one of them.');
    }
    const content = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text);
    const options = { parents: true, signal, ...(mode !== undefined && { mode }) };
    const { size, mode: set, user } = await client.files.write(sandbox, path, content, options);
    return { text: `${path} has ${size} bytes now, mode ${set}.`, data: { path, size, mode: set, user } };
  },
});

const listFiles = tool({
  name: 'list_files',
  title: 'List a directory',
  description: 'List a directory of a sandbox, by name.',
  input: z.object({ sandbox: SANDBOX, path: PATH, limit: z.int().min(1).max(1_000).default(200), cursor: CURSOR }),
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
  async run({ client, signal }, { sandbox, path, limit, cursor }) {
    const page = await client.files.list(sandbox, path, { limit, signal, ...(cursor !== undefined && { cursor }) });
    const items = page.items.map(entry);
    const lines = items.map(
      ({ name, type, size, mode, target }) => `${mode} ${type} ${size} ${name}${target ? ` -> ${target}` : ''}`,
    );
    const more = page.nextCursor === null ? [] : [`[more with cursor ${page.nextCursor}]`];
    return { text: [...lines, ...more].join('\n') || 'It is empty.', data: { items, nextCursor: page.nextCursor } };
  },
});

function entry({ name, type, size, mode, mtime, target }: FileEntry) {
  return {
    name: cleanText(name),
    type,
    size,
    mode,
    mtime,
    target: target === undefined ? undefined : cleanText(target),
  };
}

export const fileTools: Registration[] = [readFile, writeFile, listFiles];
