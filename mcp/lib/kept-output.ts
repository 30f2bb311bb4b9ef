import type { Command } from '../../clients/typescript/http/openapi.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import type { OutputStream } from '../../model/sandbox/command.ts';
import { firstBytes, type Part, type Reader, readPart } from './byte-part.ts';

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
  const read = outputReader(commands, { id, sandboxId, stream }, signal);
  const parts = ranges.filter(({ from, to }) => to > from).map((range) => readPart(read, range));
  return { parts: await Promise.all(parts), written, kept };
}

/** Writes what is shown of a stream, and names what is left out. */
export function shownText({ parts: [first, last], kept }: Shown): string {
  if (!last) return first?.text ?? '';
  return [first?.text, `[bytes ${first?.to} to ${last.from} of ${kept} are left out]`, last.text].join('\n');
}

/** What is kept of a stream of a command. */
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
