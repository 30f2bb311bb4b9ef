import { isUtf8 } from 'node:buffer';
import type { Command } from '../../clients/typescript/http/openapi.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import type { OutputStream } from '../../model/sandbox/command.ts';
import { countIncompleteBytes } from '../../model/utf8.ts';
import { maskPart } from './error-text.ts';

/** Bytes read around a part, to recognize a secret across its edge; a private key has 4 KiB. */
const AROUND = 8_192;

interface Range {
  /** Offset of its first byte, and of the one after its last. */
  from: number;
  to: number;
}

/** Part of a stream or a file, aligned to characters. */
interface Part extends Range {
  /** Content without recognizable secrets and invisible characters. */
  text: string;
  /** Complete content, as UTF-8. */
  exact: string;
  /** True when it is UTF-8. */
  isText: boolean;
  /** Requested bytes, not aligned to characters. */
  bytes: Uint8Array;
}

/** Reads the bytes of a range; fewer at the end. */
type Reader = (range: Range) => Promise<Uint8Array>;

export async function readPart(read: Reader, { from, to }: Range): Promise<Part> {
  const start = Math.max(0, from - AROUND);
  const bytes = await read({ from: start, to: to + AROUND });
  const first = characterAt(bytes, from - start);
  const behind = Math.max(first, characterAt(bytes, to - start));
  const part = bytes.subarray(first, behind);
  const text = maskPart(textOf(bytes.subarray(0, first)), textOf(part), textOf(bytes.subarray(behind)));
  const asked = bytes.subarray(from - start, to - start);
  const exact = new TextDecoder('utf-8', { ignoreBOM: true }).decode(part);
  return { from: start + first, to: start + behind, text, exact, isText: isText(part), bytes: asked };
}

/** Reads the first bytes of a stream; does not wait for the rest. @returns fewer bytes when the stream is shorter */
export async function firstBytes(body: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= most) break;
  }
  return Buffer.concat(chunks).subarray(0, Math.max(0, most));
}

/** Returns the start of the character at an offset. */
function characterAt(bytes: Uint8Array, at: number): number {
  return at >= bytes.length ? bytes.length : at - countIncompleteBytes(bytes.subarray(0, at));
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

/** Beginning and end of a stored stream; one part when it fits. */
export interface StreamExcerpt {
  parts: Part[];
  /** Bytes that the command wrote. */
  written: number;
  /** Bytes of them that are stored. */
  kept: number;
}

/** @param budget bytes: no character has less */
export async function readExcerpt(
  commands: Commands,
  { id, sandboxId, ...command }: Command,
  stream: OutputStream,
  budget: number,
  signal: AbortSignal,
): Promise<StreamExcerpt> {
  const { bytes: written, kept } = command[stream];
  const ranges =
    kept <= budget
      ? [{ from: 0, to: kept }]
      : [
          { from: 0, to: Math.ceil(budget / 2) },
          { from: kept - Math.floor(budget / 2), to: kept },
        ];
  const read = outputReader(commands, { id, sandboxId, stream }, signal);
  const parts = ranges.filter(({ from, to }) => to > from).map((range) => readPart(read, range));
  return { parts: await Promise.all(parts), written, kept };
}

/** Formats a shown stream, with the range left out. */
export function formatExcerpt({ parts: [first, last], kept }: StreamExcerpt): string {
  if (!last) return first?.text ?? '';
  return [first?.text, `[bytes ${first?.to} to ${last.from} of ${kept} are left out]`, last.text].join('\n');
}

/** Makes a reader of a command's stored stream. */
export function outputReader(
  commands: Commands,
  { id, sandboxId, stream }: { id: string; sandboxId: string; stream: OutputStream },
  signal: AbortSignal,
): Reader {
  return async ({ from, to }) => {
    const body = await commands.output(sandboxId, id, stream, { offset: from, limit: to - from, signal });
    return firstBytes(body, to - from);
  };
}
