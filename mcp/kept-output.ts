import type { Command, Commands } from '../client/commands.ts';
import type { OutputStream } from '../model/sandbox/command.ts';
import { maskPart } from './clean-text.ts';

/** What is read around a part, so that a secret which lies across its edge is known as one. Bytes; a private key has 4 KiB. */
const AROUND = 8_192;

export interface Part {
  /** Offset of its first byte in its stream, and of the one behind its last. */
  from: number;
  to: number;
  text: string;
}

/** The beginning and the end of what is kept of a stream; one part when it is all there. */
export interface Shown {
  parts: Part[];
  /** What the command wrote, bytes. */
  written: number;
  /** What of it can be read. */
  kept: number;
}

/** @param budget bytes: no character has less */
export async function shownOf(
  commands: Commands,
  { id, sandboxId, ...command }: Command,
  stream: OutputStream,
  budget: number,
  signal: AbortSignal,
): Promise<Shown> {
  const { bytes: written, kept } = command[stream];
  const ranges =
    kept <= budget
      ? [{ from: 0, to: kept }]
      : [
          { from: 0, to: Math.ceil(budget / 2) },
          { from: kept - Math.floor(budget / 2), to: kept },
        ];
  const parts = ranges.filter(({ from, to }) => to > from);
  const read = (part: { from: number; to: number }) => readPart(commands, { id, sandboxId, stream }, part, signal);
  return { parts: await Promise.all(parts.map(read)), written, kept };
}

/** A part of a stream, from one whole character to another. */
export async function readPart(
  commands: Commands,
  { id, sandboxId, stream }: { id: string; sandboxId: string; stream: OutputStream },
  { from, to }: { from: number; to: number },
  signal: AbortSignal,
): Promise<Part> {
  const start = Math.max(0, from - AROUND);
  const body = await commands.output(sandboxId, id, stream, { offset: start, limit: to + AROUND - start, signal });
  const bytes = Buffer.from(await new Response(body).arrayBuffer());
  const first = characterAt(bytes, from - start);
  const behind = Math.max(first, characterAt(bytes, to - start));
  const decoder = new TextDecoder();
  const [before, part, after] = [bytes.subarray(0, first), bytes.subarray(first, behind), bytes.subarray(behind)].map(
    (piece) => decoder.decode(piece),
  );
  return { from: start + first, to: start + behind, text: maskPart(before ?? '', part ?? '', after ?? '') };
}

/** Where the character that holds a byte begins (RFC 3629 §3); of what is no UTF-8 the byte itself. */
function characterAt(bytes: Uint8Array, at: number): number {
  if (at >= bytes.length) return bytes.length;
  for (let back = 0; back < 4 && at - back >= 0; back++) {
    const byte = bytes[at - back] ?? 0;
    if (byte < 0b1000_0000 || byte >= 0b1100_0000) return at - back;
  }
  return at;
}
