import { createReadStream, type Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { Files } from '../../clients/typescript/sandbox/files.ts';
import { duration } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { type Io, printable } from '../terminal/io.ts';
import { baseName, formatPath, join, type LocalSide, parentOf, type SandboxSide } from './side.ts';
import { packFolder } from './tar.ts';

/** Interval between two updates of the line on the terminal, ms. */
const EVERY_MS = 200;
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Counts the bytes of a copy, and shows progress on a terminal. */
export class Progress {
  bytes = 0;
  /** Total bytes, if known. */
  total: number | null = null;
  readonly #io: Io;
  readonly #name: string;
  readonly #began = performance.now();
  #shownAt = 0;

  constructor(io: Io, name: string) {
    this.#io = io;
    this.#name = printable(name);
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1_000;
  }

  /** Passes bytes through, and counts them. */
  async *counting(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of source) {
      this.bytes += chunk.length;
      this.#show();
      yield chunk;
    }
  }

  /** Summarizes the copy for a person. */
  summary(): string {
    return `${size(this.bytes)} in ${duration(this.seconds * 1_000)}`;
  }

  #show(): void {
    const now = performance.now();
    if (now - this.#shownAt < EVERY_MS) return;
    this.#shownAt = now;
    const share = this.total ? `, ${Math.floor((this.bytes / this.total) * 100)} %` : '';
    this.#io.noteForNow(`${this.#name}  ${size(this.bytes)}, ${size(this.bytes / this.seconds)}/s${share}`);
  }
}

/** Formats bytes for a person: `812 bytes`, `3.4 MiB`. */
function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Bytes per read of a local file. */
const READ_BYTES = 262_144;

export interface CopyOptions {
  recursive: boolean;
  progress: Progress;
  /** Called for each file that was not copied faithfully. */
  onNote: (note: string) => void;
  signal: AbortSignal;
}

/** Copies a local file or directory into a sandbox. @returns the target */
export async function upload(
  files: Files,
  source: LocalSide,
  target: SandboxSide,
  options: CopyOptions,
): Promise<SandboxSide> {
  const found = await stat(source.path).catch((error: NodeJS.ErrnoException) => {
    throw cannotRead(source.path, error);
  });
  if (!found.isDirectory()) return uploadFile(files, source, target, found, options);
  if (options.recursive) return uploadDirectory(files, source, target, options);
  throw usageError(`${formatPath(source.path)} is a directory`, 'Give -r to copy it with all that is in it.');
}

/** Copies a stream, such as standard input, to a file of a sandbox. */
export async function uploadStream(
  files: Files,
  source: AsyncIterable<Uint8Array>,
  target: SandboxSide,
  { progress, signal }: CopyOptions,
): Promise<SandboxSide> {
  const { sandboxId, path } = target;
  await sending(progress.counting(source), (stream) => files.write(sandboxId, path, stream, { signal }));
  return target;
}

async function uploadFile(
  files: Files,
  source: LocalSide,
  target: SandboxSide,
  found: Stats,
  options: CopyOptions,
): Promise<SandboxSide> {
  const { progress, signal } = options;
  const placed = await within(files, source, target, signal);
  if (found.isFile()) progress.total = found.size;
  const content = createReadStream(source.path, { highWaterMark: READ_BYTES });
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  const { sandboxId, path } = placed;
  await sending(progress.counting(content), (stream) => files.write(sandboxId, path, stream, { mode, signal }));
  return placed;
}

async function uploadDirectory(
  files: Files,
  source: LocalSide,
  target: SandboxSide,
  { progress, onNote, signal }: CopyOptions,
): Promise<SandboxSide> {
  const placed = await within(files, source, target, signal);
  const { sandboxId, path } = placed;
  if (!(await isDirectory(files, sandboxId, parentOf(path), signal))) {
    const why = `there is no directory ${formatPath(parentOf(path))} in ${sandboxId}`;
    throw new CliError(EXIT.notFound, 'Nothing was copied', why, 'Make it first, or copy to another place.');
  }
  const archive = progress.counting(packFolder(source.path, onNote, signal));
  await sending(archive, (stream) => files.writeArchive(sandboxId, path, stream, { parents: true, signal }));
  return placed;
}

/** Sends a stream. A failure of the stream itself is thrown, instead of the broken connection that follows. */
async function sending<T>(
  source: AsyncIterable<Uint8Array>,
  send: (stream: ReadableStream<Uint8Array>) => Promise<T>,
): Promise<T> {
  let broken: unknown;
  let isOver = false;
  async function* recordFailure() {
    try {
      for await (const chunk of source) {
        if (isOver) return; // an aborted fetch of Node reads on to the end
        yield chunk;
      }
    } catch (error) {
      broken = error;
      throw error;
    }
  }
  try {
    return await send(ReadableStream.from(recordFailure()));
  } catch (error) {
    throw broken ?? error;
  } finally {
    isOver = true;
  }
}

/** Returns the target of a copy: within a directory, under the source's own name, as with cp and scp. */
async function within(files: Files, source: LocalSide, target: SandboxSide, signal: AbortSignal): Promise<SandboxSide> {
  if (!(await isDirectory(files, target.sandboxId, target.path, signal))) return target;
  const name = baseName(source.path) ?? baseName(await realpath(source.path, { encoding: 'buffer' }));
  if (name === null) throw usageError(`${formatPath(source.path)} has no name`, 'Say how the copy shall be named.');
  return { ...target, path: join(target.path, name) };
}

/** Reports whether a path of the guest is a directory, or a link to one: the trailing slash follows the link. */
export async function isDirectory(
  files: Files,
  sandboxId: string,
  path: Buffer,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return (await files.stat(sandboxId, join(path, ''), { signal })).type === 'directory';
  } catch (error) {
    const codes = ['file_not_found', 'file_conflict'];
    if (error instanceof MayflyApiError && codes.includes(error.code)) return false;
    throw error;
  }
}

function cannotRead(path: Buffer, cause: NodeJS.ErrnoException): CliError {
  const exitCode = cause.code === 'ENOENT' ? EXIT.notFound : EXIT.failed;
  return new CliError(exitCode, `${formatPath(path)} cannot be read`, cause.code ?? cause.message, 'Check the path.');
}
