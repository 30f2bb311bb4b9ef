import type { ContextEntry } from '../dockerfile/context.ts';
import { TRANSFER_ARCHIVE } from './stage-copy.ts';
import type { StepProgram } from './step-program.ts';
import { buildTar, concatBytes, END, type TarEntry, tarHeader, tarPadding } from './tar.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Entry of a COPY's archive: a heredoc file of the Dockerfile, or a file of the context. */
interface Part extends Omit<TarEntry, 'bytes'> {
  content: Bytes | ContextEntry | null;
}

/** Assembles the standard input of a program. @param bytesOf reads a file of the context */
export function assembleStdin(
  program: StepProgram,
  bytesOf: (path: string) => Uint8Array,
  secretOf: (id: string) => Uint8Array,
): Uint8Array {
  const { stdin, files, secrets } = program;
  if (secrets.length > 0) return concatBytes([...secrets.map(secretOf), new TextEncoder().encode(stdin)]);
  const [first] = files;
  if (!first) return new TextEncoder().encode(stdin);
  if (first.as === '') return bytesOf(first.entry.path);
  const entries = partsOf(program).map(({ content, ...plain }): TarEntry => {
    if (content === null) return { ...plain, bytes: new Uint8Array() };
    return { ...plain, bytes: content instanceof Uint8Array ? content : bytesOf(content.path) };
  });
  return buildTar(entries);
}

/** Streams the same for a context too large for memory. @param bytesOf reads a file of it */
export async function* streamStdin(
  program: StepProgram,
  bytesOf: (entry: ContextEntry) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const [first] = program.files;
  if (first?.as === '') {
    yield* bytesOf(first.entry);
    return;
  }
  for (const { content, ...plain } of partsOf(program)) {
    const size = content === null ? 0 : content instanceof Uint8Array ? content.length : content.size;
    yield tarHeader({ ...plain, size });
    if (content instanceof Uint8Array) yield content;
    else if (content !== null) yield* bytesOf(content);
    yield tarPadding(size);
  }
  yield END;
}

const FROM_FILE = `trap 'rm -f -- "$0"' EXIT\n"$@" <"$0"`;

/** Wraps a program whose standard input was uploaded as a file, which the step deletes. */
export function withStdinFile({ argv }: Pick<StepProgram, 'argv'>): string[] {
  return ['/bin/sh', '-c', FROM_FILE, TRANSFER_ARCHIVE, ...argv];
}

function partsOf({ files, inline, mode }: StepProgram): Part[] {
  const all = mode === null ? null : Number.parseInt(mode, 8);
  const placed = files.map(({ as, entry }): Part => {
    const { type, mode: own, link } = entry;
    const content = type === 'file' ? entry : null;
    return { path: as, type, mode: type === 'symlink' ? own : (all ?? own), link, content };
  });
  const written = inline.map(({ name, content }): Part => {
    return { path: name, type: 'file', mode: all ?? 0o644, link: null, content: new TextEncoder().encode(content) };
  });
  return [...placed, ...written];
}
