import type { Readable } from 'node:stream';
import { type DiffLimits, DiffRun, type DiskImage } from './diff-program.ts';
import { type FileChangeLine, linesOf, parseLine } from './file-change-lines.ts';
import { FileSystemProblem } from './file-system-problem.ts';

/** Length of the size field before a file's content: big-endian. */
const SIZE_BYTES = 8;
/** Limit of a directory listing, each name with a zero byte: 4,000 of the longest. */
const NAME_BYTES = 1_048_576;

interface DiffOptions extends DiffLimits {
  /** Bytes of absolute paths: compares only these files and folders. `@default` [] for all */
  within?: readonly Uint8Array[];
}

/**
 * Reads ext4 file systems on guests' disks through `mayfly-diff`: a separate program without privileges that gets only
 * these disks' files. Its output is hostile: names may hold anything but a slash and NUL.
 */
export class FileSystemDiff {
  /** @param program path of mayfly-diff, which set-up builds */
  constructor(private readonly program: string) {}

  /**
   * Yields the changes from the first disk to the second, as they are found.
   * @throws FileSystemProblem after any number of lines; without an `end` line the changes are incomplete
   */
  async *changes(before: DiskImage, after: DiskImage, options: DiffOptions = {}): AsyncGenerator<FileChangeLine> {
    const run = await this.#compare('lines', before, after, options);
    let whole = false;
    try {
      for await (const text of linesOf(run.output.setEncoding('utf8'))) {
        const line = parseLine(text);
        whole = line.line === 'end';
        yield line;
      }
      await run.finish();
      if (!whole) throw new FileSystemProblem('internal', 'mayfly-diff left out the end of its answer.', null);
    } finally {
      await run.stop();
    }
  }

  /**
   * Yields a tar archive (PAX) of all that was added, changed or renamed, in its later state, names beginning with
   * `./`; removed paths are whiteouts. Ends with an error when it could not read everything.
   */
  async *tar(before: DiskImage, after: DiskImage, options: DiffOptions = {}): AsyncGenerator<Uint8Array> {
    yield* this.#bytes(await this.#compare('tar', before, after, options));
  }

  /**
   * Reads the first bytes of a file, and its size; symbolic links are not followed. @param path bytes, from the root
   * @throws FileSystemProblem not-found, not-a-file, and those of the image
   */
  async content(
    image: DiskImage,
    path: Uint8Array,
    bytes: number,
    limits: DiffLimits = {},
  ): Promise<{ content: Buffer; size: number }> {
    const run = await DiffRun.start(this.program, { mode: 'content', after: image, path, bytes }, limits);
    const parts: Uint8Array[] = [];
    let left = SIZE_BYTES + bytes;
    for await (const part of this.#bytes(run)) {
      left -= part.length;
      if (left < 0) throw new FileSystemProblem('internal', 'mayfly-diff wrote more than it was asked for.', null);
      parts.push(part);
    }
    const all = Buffer.concat(parts);
    if (all.length < SIZE_BYTES) throw new FileSystemProblem('internal', 'mayfly-diff left out a size.', null);
    return { content: all.subarray(SIZE_BYTES), size: Number(all.readBigUInt64BE()) };
  }

  /**
   * Lists the names, as bytes, in the order of the disk; symbolic links are not followed. @throws FileSystemProblem
   * not-found, not-a-file (no directory), limit, and those of the image
   */
  async names(image: DiskImage, path: Uint8Array, limits: DiffLimits = {}): Promise<Buffer[]> {
    const run = await DiffRun.start(this.program, { mode: 'names', after: image, path, bytes: NAME_BYTES }, limits);
    const parts: Uint8Array[] = [];
    for await (const part of this.#bytes(run)) parts.push(part);
    const names = Buffer.concat(parts).toString('latin1').split('\0').slice(0, -1);
    return names.map((name) => Buffer.from(name, 'latin1'));
  }

  #compare(mode: 'lines' | 'tar', before: DiskImage, after: DiskImage, options: DiffOptions): Promise<DiffRun> {
    const { within = [], ...limits } = options;
    return DiffRun.start(this.program, { mode, before, after, within }, limits);
  }

  async *#bytes(run: DiffRun): AsyncGenerator<Uint8Array> {
    try {
      const output: Readable & AsyncIterable<Uint8Array> = run.output;
      yield* output;
      await run.finish();
    } finally {
      await run.stop();
    }
  }
}
