import { chmod, lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import type { FileContent, Files } from '../../clients/typescript/sandbox/files.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { pathConflictError, refuseLinkOut, temporaryBeside, valueIfMissing, writeAtomically } from './local-file.ts';
import { baseName, formatPath, join, type LocalSide, type SandboxSide, SLASH, trimSlashes } from './side.ts';
import { unpack } from './tar.ts';
import { type CopyOptions, isDirectory } from './upload.ts';

/** Set-user-id, set-group-id and sticky: a guest must not set such bits here. */
const SPECIAL_BITS = 0o7000;

/**
 * Lets `make` fill a closed directory, checks the result, and moves it to `path`: as a whole when nothing exists there,
 * else file by file. A failure of `make` leaves nothing.
 */
async function writeTree(path: Buffer, make: (directory: Buffer) => Promise<void>): Promise<void> {
  const closed = temporaryBeside(path);
  const tree = join(closed, 'tree');
  await mkdir(closed, { mode: 0o700 });
  try {
    await mkdir(tree, { mode: 0o755 });
    await make(tree);
    await checkTree(tree);
    await settle(tree, path);
  } finally {
    await rm(closed, { recursive: true, force: true });
  }
}

/** @throws CliError for anything but files, directories and links */
async function checkTree(path: Buffer): Promise<void> {
  for (const child of await childrenOf(path)) {
    const found = await lstat(child);
    if (found.isSymbolicLink()) continue;
    if (!found.isFile() && !found.isDirectory()) throw refusedEntry(child);
    if ((found.mode & SPECIAL_BITS) !== 0) await chmod(child, found.mode & 0o777);
    if (found.isDirectory()) await checkTree(child);
  }
}

async function settle(from: Buffer, to: Buffer): Promise<void> {
  const present = await lstat(to).catch(valueIfMissing(null));
  const isDirectory = (await lstat(from)).isDirectory();
  if (present && present.isDirectory() !== isDirectory) throw pathConflictError(to);
  if (!present || !isDirectory) return rename(from, to);
  for (const child of await childrenOf(from)) await settle(child, join(to, child.subarray(from.length + 1)));
}

async function childrenOf(directory: Buffer): Promise<Buffer[]> {
  const names = await readdir(directory, { encoding: 'buffer' });
  return names.map((name) => join(directory, name));
}

function refusedEntry(path: Buffer): CliError {
  const why = `${formatPath(path)} is a device, a FIFO or a socket`;
  return new CliError(
    EXIT.failed,
    'The sandbox sent what is not copied',
    why,
    'Copy the files you need by themselves.',
  );
}

const BLOCK = 512;
/** Maximum size of a record in bytes; longer ones are foreign. */
const MOST = 16_384;
const NOTE = 'mayfly: ';

/**
 * Passes an archive through unchanged, and extracts the guest's notes on files that it could not read completely.
 * @param onNote called with each, which a guest has written
 */
export async function* withNotes(
  archive: AsyncIterable<Uint8Array>,
  onNote: (note: string) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = new NoteReader(onNote);
  for await (const chunk of archive) {
    reader.push(chunk);
    yield chunk;
  }
}

/** Follows the headers of an archive: notes are PAX comments on all following entries (`g`). */
class NoteReader {
  #header: Buffer = Buffer.alloc(0);
  /** Bytes until the next header. */
  #skip = 0;
  /** Records being read, with the type of their header. */
  #records: { letter: string; length: number; pieces: Buffer[] } | null = null;
  /** Size of the next entry, if its header has no room for it. */
  #size: number | null = null;

  constructor(private readonly onNote: (note: string) => void) {}

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let at = 0; at < bytes.length; ) {
      const wanted = this.#skip > 0 ? this.#skip : BLOCK - this.#header.length;
      const piece = bytes.subarray(at, at + wanted);
      at += piece.length;
      if (this.#skip > 0) this.#content(piece);
      else this.#begin(piece);
    }
  }

  #content(piece: Buffer): void {
    this.#skip -= piece.length;
    this.#records?.pieces.push(Buffer.from(piece));
    if (this.#skip === 0 && this.#records) this.#end(this.#records);
  }

  #begin(piece: Buffer): void {
    this.#header = Buffer.concat([this.#header, piece]);
    if (this.#header.length < BLOCK) return;
    const letter = this.#header.toString('latin1', 156, 157);
    const said = Number.parseInt(this.#header.toString('latin1', 124, 136), 8) || 0;
    this.#header = Buffer.alloc(0);
    const isRecord = letter === 'x' || letter === 'g';
    const length = isRecord ? said : (this.#size ?? said);
    if (!isRecord) this.#size = null;
    this.#skip = Math.ceil(length / BLOCK) * BLOCK;
    this.#records = isRecord && length > 0 && length <= MOST ? { letter, length, pieces: [] } : null;
  }

  #end({ letter, length, pieces }: { letter: string; length: number; pieces: Buffer[] }): void {
    this.#records = null;
    const text = Buffer.concat(pieces).toString('utf8', 0, length);
    const record = (key: string) => new RegExp(`(?:^|\\n)\\d+ ${key}=([^\\n]*)\\n`).exec(text)?.[1];
    if (letter === 'x') this.#size = Number.parseInt(record('size') ?? '', 10) || null;
    const comment = letter === 'g' ? record('comment') : undefined;
    if (comment?.startsWith(NOTE)) this.onNote(comment.slice(NOTE.length));
  }
}

/** Copies a file or directory of a sandbox to this machine. @returns the target */
export async function download(
  files: Files,
  source: SandboxSide,
  target: LocalSide,
  options: CopyOptions,
): Promise<LocalSide> {
  const { sandboxId, path } = source;
  if (!(await isDirectory(files, sandboxId, path, options.signal))) {
    const placed = await within(source, target);
    const read = await files.read(sandboxId, path, { signal: options.signal });
    await writeAtomically(placed.path, assertComplete(read, options), Number.parseInt(read.mode, 8));
    return placed;
  }
  if (!options.recursive) {
    throw usageError(`${formatPath(path)} is a directory`, 'Give -r to copy it with all that is in it.');
  }
  const placed = await within(source, { ...target, path: trimSlashes(target.path) });
  await refuseLinkOut(placed.path);
  await writeTree(placed.path, async (directory) => {
    const { body } = await files.readArchive(sandboxId, path, { signal: options.signal });
    await unpack(withNotes(options.progress.counting(body), options.onNote), directory, options.signal);
  });
  return placed;
}

/** Copies a file of a sandbox to a stream, such as standard output. */
export async function downloadStream(
  files: Files,
  { sandboxId, path }: SandboxSide,
  write: (bytes: Uint8Array) => Promise<void>,
  options: CopyOptions,
): Promise<void> {
  const read = await files.read(sandboxId, path, { signal: options.signal });
  for await (const chunk of assertComplete(read, options)) await write(chunk);
}

/** Counts the content; fails when it is truncated. */
async function* assertComplete({ body, size }: FileContent, { progress }: CopyOptions) {
  progress.total = size;
  yield* progress.counting(body);
  if (size === null || progress.bytes === size) return;
  const why = `${progress.bytes} of ${size} bytes have come`;
  throw new CliError(EXIT.failed, 'The copy is not whole and was not kept', why, 'Copy it again.');
}

async function within(source: SandboxSide, target: LocalSide): Promise<LocalSide> {
  const present = await stat(target.path).catch(valueIfMissing(null));
  if (!present?.isDirectory()) {
    if (target.path.at(-1) !== SLASH) return target;
    throw usageError(`there is no directory ${formatPath(target.path)}`, 'Make it first, or leave the slash out.');
  }
  const name = baseName(source.path);
  if (name === null) throw usageError(`${formatPath(source.path)} has no name`, 'Say how the copy shall be named.');
  return { ...target, path: join(target.path, name) };
}
