import type { Readable } from 'node:stream';
import { type DiffLimits, DiffRun, type DiskImage } from './diff-program.ts';
import { type FileChangeLine, linesOf, parseLine } from './file-change-lines.ts';
import { FileSystemProblem } from './file-system-problem.ts';

/**
 * What differs between the ext4 file systems on two disks of guests, read by `mayfly-diff`: a program of its own that
 * has no privileges, and only these disks' files. All of it is hostile: names may hold anything but a slash and NUL.
 */
export class FileSystemDiff {
  /** @param program path of mayfly-diff, which set-up builds */
  constructor(private readonly program: string) {}

  /**
   * The changes that make the second disk of the first, as they are found.
   * @throws FileSystemProblem after any number of lines; without an `end` the others are not all
   */
  async *changes(before: DiskImage, after: DiskImage, limits: DiffLimits = {}): AsyncGenerator<FileChangeLine> {
    const run = await DiffRun.start(this.program, { mode: 'lines', before, after }, limits);
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
   * A tar archive (PAX) of all that was added, changed or renamed, in its later state, names beginning with `./`; what
   * was removed is not in it. Ends with an error when not all could be read.
   */
  async *tar(before: DiskImage, after: DiskImage, limits: DiffLimits = {}): AsyncGenerator<Uint8Array> {
    yield* this.#bytes(await DiffRun.start(this.program, { mode: 'tar', before, after }, limits));
  }

  /**
   * The first bytes of a file. Its path is taken as it is: symbolic links are not followed.
   * @param path bytes, from the root
   * @throws FileSystemProblem not-found, not-a-file, and those of the image
   */
  async content(image: DiskImage, path: Uint8Array, bytes: number, limits: DiffLimits = {}): Promise<Buffer> {
    const run = await DiffRun.start(this.program, { mode: 'content', after: image, path, bytes }, limits);
    const parts: Uint8Array[] = [];
    let left = bytes;
    for await (const part of this.#bytes(run)) {
      left -= part.length;
      if (left < 0) throw new FileSystemProblem('internal', 'mayfly-diff wrote more than it was asked for.', null);
      parts.push(part);
    }
    return Buffer.concat(parts);
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
