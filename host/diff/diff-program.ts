import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { MAYFLY_FILES } from '../../model/files/own-files.ts';
import { FileSystemProblem, PROBLEM_CODES } from './file-system-problem.ts';

/**
 * User id of the program when started as root: unused by anything else, since systemd keeps 65520 to 65533 free
 * (UIDS-GIDS.md of systemd).
 */
const UID = 65_533;
/** First descriptor after the standard streams, 0 to 2. */
const FIRST_DESCRIPTOR = 3;
/** Extra time to report its own timeout, ms. */
const GRACE_MS = 10_000;
const STDERR_BYTES = 65_536;

/** File of a disk's chain, as imageChain returns it. */
interface DiskLayer {
  path: string;
  /** `qcow2`, and for the last layer also `raw`. Taken from metadata, never probed. */
  format: string;
}

/** Disk of a guest without a concurrent writer. */
export interface DiskImage {
  /** Topmost layer (written last) first. */
  layers: readonly DiskLayer[];
  /** Number of the partition. `@default` the whole disk, else the only one with an ext4 file system */
  partition?: number;
}

interface DiffRequest {
  mode: 'lines' | 'tar' | 'content' | 'names';
  before?: DiskImage;
  after: DiskImage;
  /** Bytes of absolute paths: of all others only the name is read. `@default` [] for all */
  within?: readonly Uint8Array[];
  /** Bytes of a path, in `content` and `names`. */
  path?: Uint8Array;
  /** Limit of the answer's bytes, in `content` and `names`. */
  bytes?: number;
}

export interface DiffLimits {
  signal?: AbortSignal;
  /** Timeout of the program. `@default` 120 */
  seconds?: number;
}

const complaint = z.looseObject({
  code: z.enum(PROBLEM_CODES),
  message: z.string(),
  image: z.enum(['before', 'after']).optional(),
});

/**
 * Run of the program that parses what guests have written. It gets the layers as open descriptors and cannot open
 * anything itself; it ends with this process.
 */
export class DiffRun {
  #stderr = '';
  #late = false;
  /** Error of the start, or the abort. */
  #error: Error | null = null;
  readonly #ended: Promise<void>;
  readonly #timer: NodeJS.Timeout;

  private constructor(
    private readonly child: ChildProcess,
    readonly output: Readable,
    seconds: number,
  ) {
    child.once('error', (error) => {
      this.#error = error;
    });
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
    // Node discards unread output when a child ends, unless it has a reader.
    output.on('readable', () => {});
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(0, STDERR_BYTES);
    });
    this.#timer = setTimeout(
      () => {
        this.#late = true;
        child.kill('SIGKILL');
      },
      seconds * 1_000 + GRACE_MS,
    );
  }

  /** @param program path of mayfly-diff */
  static async start(program: string, question: DiffRequest, { signal, seconds = 120 }: DiffLimits): Promise<DiffRun> {
    const handles: FileHandle[] = [];
    const openLayers = async ({ layers, partition }: DiskImage) => {
      const described: { fd: number; format: string }[] = [];
      for (const { path, format } of layers) {
        described.push({ fd: FIRST_DESCRIPTOR + handles.length, format });
        handles.push(await open(path, 'r'));
      }
      return { layers: described, partition: partition ?? null };
    };
    try {
      const { mode, within = [], path, bytes = 0 } = question;
      const before = await openLayers(question.before ?? { layers: [] });
      const after = await openLayers(question.after);
      const descriptors = handles.map(({ fd }) => fd);
      const child = spawn(program, ['-uid', String(UID)], {
        cwd: '/',
        env: {},
        stdio: ['pipe', 'pipe', 'pipe', ...descriptors],
        killSignal: 'SIGKILL',
        ...(signal && { signal }),
      });
      const { stdin, stdout } = child;
      if (!stdin || !stdout) throw new TypeError('a child with pipes has none');
      const run = new DiffRun(child, stdout, seconds);
      stdin.on('error', () => {}); // EPIPE of a program that has ended: the exit status has the reason
      const [encodedPath = ''] = path ? base64([path]) : [];
      const scope = { within: base64(within), without: MAYFLY_FILES };
      stdin.end(JSON.stringify({ mode, before, after, ...scope, path: encodedPath, bytes, seconds }));
      return run;
    } finally {
      await Promise.all(handles.map((handle) => handle.close()));
    }
  }

  /** Waits for the end. @throws FileSystemProblem when the program failed or was incomplete; AbortError */
  async finish(): Promise<void> {
    await this.#ended;
    clearTimeout(this.#timer);
    if (this.#error) throw this.#error;
    const { exitCode, signalCode } = this.child;
    if (exitCode === 0) return;
    if (this.#late) throw new FileSystemProblem('limit', 'The two file systems could not be compared in time.', null);
    throw problemOf(this.#stderr, exitCode === null ? `was ended by ${signalCode}` : `exited with ${exitCode}`);
  }

  /** Kills the program, and waits for its end. */
  async stop(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
    clearTimeout(this.#timer);
  }
}

function base64(names: readonly Uint8Array[]): string[] {
  return names.map((name) => Buffer.from(name).toString('base64'));
}

function problemOf(stderr: string, ending: string): FileSystemProblem {
  // Message of the Go runtime when memory is denied; it cannot print a better one.
  if (stderr.includes('fatal error: runtime: out of memory') || stderr.includes('fatal error: out of memory')) {
    return new FileSystemProblem('limit', 'Comparing the two file systems takes more memory than is granted.', null);
  }
  try {
    const { code, message, image } = complaint.parse(JSON.parse(stderr));
    return new FileSystemProblem(code, message, image ?? null);
  } catch (cause) {
    const shown = stderr.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 500);
    return new FileSystemProblem('internal', `mayfly-diff ${ending} and said: ${shown || 'nothing'}`, null, { cause });
  }
}
