import { isUtf8 } from 'node:buffer';
import { begun } from '../../model/utf8.ts';
import { maskPart } from './clean-text.ts';

/** What is read around a part, so that a secret which lies across its edge is known as one. Bytes; a private key has 4 KiB. */
const AROUND = 8_192;

export interface Range {
  /** Offset of its first byte, and of the one behind its last. */
  from: number;
  to: number;
}

/** A part of a stream or a file, from one whole character to another. */
export interface Part extends Range {
  /** Without secrets that can be recognised, and without what nobody sees. */
  text: string;
  /** Each byte of it, as UTF-8. */
  exact: string;
  /** Whether it is UTF-8. */
  isText: boolean;
  /** The bytes that were asked for, cut wherever that was said. */
  bytes: Uint8Array;
}

/** Reads the bytes of a range; fewer where the end comes first. */
export type Reader = (range: Range) => Promise<Uint8Array>;

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

/** @returns fewer bytes where the end comes first; what is behind them is not waited for */
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

/** Where the character that a place lies in begins. */
function characterAt(bytes: Uint8Array, at: number): number {
  return at >= bytes.length ? bytes.length : at - begun(bytes.subarray(0, at));
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function isText(bytes: Uint8Array): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}
