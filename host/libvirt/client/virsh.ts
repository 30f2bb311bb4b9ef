import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MayflyError } from '../../../model/errors.ts';
import { nullIf, orAbsent } from '../../os/absent.ts';
import { ExecError, type ExecOptions, exec, ProgramError } from '../../os/exec.ts';
import { type Failure, queryFailure } from '../output/failures.ts';

/** Error of virsh although the service answers; `failure` classifies it for queries. */
export class VirshError extends ProgramError {
  override readonly name = 'VirshError';
  constructor(
    readonly command: string,
    stderr: string,
    readonly failure: Failure,
    cause: unknown,
  ) {
    super(`virsh ${command}: ${stderr.trim().replace(/^error: /gm, '')}`, stderr, cause);
  }
}

/** Returns libvirt's answer; null when it refuses. */
export function nullIfRefused<T>(answer: Promise<T>): Promise<T | null> {
  return nullIf(answer, (error) => error instanceof VirshError);
}

/** Returns libvirt's answer about a domain; null without a domain. */
export function nullIfMissing<T>(answer: Promise<T>): Promise<T | null> {
  return nullIf(answer, (error) => error instanceof VirshError && error.failure.result === 'not_found');
}

/** Timeout of one virsh command, ms; starting and stopping a QEMU on a loaded machine is the slowest. */
const COMMAND_TIMEOUT_MS = 60_000;

/** Prefix of the documents' folders. */
const DOCUMENT = 'mayfly-define-';
/** Age at which a document is surely unused, ms. */
const STALE_MS = 600_000;

/** Makes the folder of documents, and removes those of killed processes. Others of this host may be at work. */
export async function clearScratch(scratch: string): Promise<void> {
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  for (const name of await readdir(scratch)) {
    const folder = join(scratch, name);
    const made = await orAbsent(stat(folder));
    if (made && made.mtimeMs < Date.now() - STALE_MS) await rm(folder, { recursive: true, force: true });
  }
}

export class Virsh {
  /**
   * @param uri e.g. `qemu:///system` @param scratch for documents, which virsh takes only from files: leftovers of a
   * killed process are removed by {@link clearScratch}
   */
  constructor(
    readonly uri: string,
    private readonly scratch = tmpdir(),
  ) {}

  /**
   * @returns standard output @throws VirshError when libvirt refuses it; MayflyError host_unavailable when libvirt does
   * not answer, is busy with the object, or virsh is missing
   */
  async run(args: readonly string[], options: ExecOptions = {}): Promise<string> {
    try {
      const { stdout } = await exec('virsh', ['--quiet', '--connect', this.uri, ...args], {
        timeoutMs: COMMAND_TIMEOUT_MS,
        ...options,
      });
      return stdout;
    } catch (error) {
      options.signal?.throwIfAborted();
      throw this.#explain(args[0] ?? '', error);
    }
  }

  /**
   * Runs as {@link run}, for a one-line answer, with arguments hidden from process lists: virsh reads them from
   * standard input, and answers between two prompts.
   */
  async runUnseen(args: readonly string[], options: ExecOptions = {}): Promise<string> {
    const input = `${args.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}\n`;
    try {
      const { stdout, stderr } = await exec('virsh', ['--quiet', '--connect', this.uri], {
        timeoutMs: COMMAND_TIMEOUT_MS,
        ...options,
        input,
        env: { TERM: 'dumb' },
      });
      const [, answer] = /\n([^\n]*)\n+virsh # *\n?$/.exec(stdout) ?? [];
      if (stderr.trim() === '' && answer !== undefined) return answer;
      throw new ExecError('virsh', [args[0] ?? ''], 1, stderr, '', null);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw this.#explain(args[0] ?? '', error);
    }
  }

  /** Runs a command on a document, which virsh takes only from a file. Throws as {@link run}. */
  async define(command: 'define' | 'net-define', xml: string): Promise<void> {
    await this.#withFile(xml, (file) => [command, '--file', file]);
  }

  /** Starts a transient domain, paused, which ends with this connection, so at once. Throws as {@link run}. */
  async tryStart(xml: string): Promise<void> {
    await this.#withFile(xml, (file) => ['create', '--paused', '--autodestroy', '--file', file]);
  }

  /** Replaces the description of a domain's saved memory. Throws as {@link run}. */
  async defineSaved(domain: string, xml: string): Promise<void> {
    await this.#withFile(xml, (file) => ['managedsave-define', '--domain', domain, '--xml', file]);
  }

  async #withFile(xml: string, command: (file: string) => string[]): Promise<void> {
    const folder = await mkdtemp(join(this.scratch, DOCUMENT));
    try {
      const file = join(folder, 'definition.xml');
      await writeFile(file, xml, { mode: 0o600 });
      await this.run(command(file));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  #explain(command: string, error: unknown): unknown {
    if (!(error instanceof ExecError)) return error;
    const failure = queryFailure(error.stderr);
    const answered = error.exitCode === 1 && failure.result !== 'unavailable' && failure.result !== 'busy';
    if (answered) return new VirshError(command, error.stderr, failure, error);
    const why = error.stderr.trim().replace(/^error: /gm, '') || error.message;
    return new MayflyError('host_unavailable', `libvirt at ${this.uri} did not answer \`${command}\`: ${why}`, {
      cause: error,
    });
  }
}
