import { isUtf8 } from 'node:buffer';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CliError, EXIT } from '../terminal/cli-error.ts';

/** Maximum characters of tar's error output that are kept. */
const COMPLAINT_LENGTH = 2_000;
/** File descriptor of a directory whose name is not UTF-8: `spawn` takes text only. */
const DIRECTORY_DESCRIPTOR = 3;

/** Exit code of GNU tar: files changed while they were read, and the archive is complete. */
const CHANGED = 1;

/**
 * Makes an archive of a directory with the system's tar; throws when tar fails.
 * @param onNote called with each file that changed while it was read
 */
export async function* packFolder(
  directory: Buffer,
  onNote: (note: string) => void,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const tar = await Tar.start('packs', ['--create', '--file', '-'], directory, signal);
  try {
    yield* tar.output;
    for (const line of await tar.ended([0, CHANGED])) onNote(line.replace(/^[^:]*tar: (?:\.\/)?/, ''));
  } finally {
    await tar.stop();
  }
}

/** Unpacks an archive with the system's tar: entries belong to this user and get its umask. @throws CliError */
export async function unpack(
  archive: AsyncIterable<Uint8Array>,
  directory: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const options = ['--extract', '--file', '-', '--no-same-owner', '--no-same-permissions'];
  const tar = await Tar.start('unpacks', options, directory, signal);
  try {
    // A tar that fails stops reading: its own error explains more than the broken pipe.
    const fed = pipeline(archive, tar.input).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
    await fed;
    await tar.ended();
  } finally {
    await tar.stop();
  }
}

class Tar {
  #complaint = '';
  readonly #over: Promise<unknown[]>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly signal: AbortSignal,
  ) {
    this.#over = once(child, 'close');
    this.#over.catch(() => {}); // ended() reports it
    // Node discards unread output when a child exits (`flushStdio`), unless there is a listener.
    child.stdout?.on('readable', () => {});
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-COMPLAINT_LENGTH);
    });
  }

  static async start(
    what: 'packs' | 'unpacks',
    options: string[],
    directory: Buffer,
    signal: AbortSignal,
  ): Promise<Tar> {
    const [stdin, stdout, ...operands] =
      what === 'packs' ? (['ignore', 'pipe', '.'] as const) : (['pipe', 'ignore'] as const);
    const isText = isUtf8(directory);
    const handle = isText ? null : await open(directory, 'r');
    try {
      const name = isText ? directory.toString('utf8') : `/proc/self/fd/${DIRECTORY_DESCRIPTOR}`;
      const { TAR_OPTIONS: _, ...env } = process.env; // ignores the user's defaults
      const child = spawn('tar', [...options, `--directory=${name}`, ...operands], {
        stdio: [stdin, stdout, 'pipe', ...(handle ? [handle.fd] : [])],
        env: { ...env, LC_ALL: 'C' },
        signal,
        killSignal: 'SIGKILL',
      });
      return new Tar(child, signal);
    } finally {
      await handle?.close();
    }
  }

  get input(): Writable {
    if (!this.child.stdin) throw new Error('tar was started without a standard input');
    return this.child.stdin;
  }

  get output(): Readable {
    if (!this.child.stdout) throw new Error('tar was started without a standard output');
    return this.child.stdout;
  }

  /**
   * @param good exit codes of success. `@default` 0
   * @returns the lines of its error output
   * @throws CliError when tar could not run, or failed; the signal's reason
   */
  async ended(good: readonly unknown[] = [0]): Promise<string[]> {
    const [code, signal] = await this.#over.catch((cause: unknown) => {
      this.signal.throwIfAborted();
      throw tarError(cause instanceof Error ? cause.message : String(cause), cause);
    });
    if (!good.includes(code)) throw tarError(this.#complaint.trim() || `it ended with ${String(code ?? signal)}`);
    return this.#complaint.split('\n').filter((line) => line !== '');
  }

  /** Kills tar, and resolves when it has ended. */
  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.#over.catch(() => {});
  }
}

function tarError(why: string, cause?: unknown): CliError {
  return new CliError(EXIT.failed, 'The local tar failed', why, 'Mend what it says, and copy again.', { cause });
}
