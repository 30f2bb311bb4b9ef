import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { MayflyError } from '../../../model/errors.ts';
import { CONSOLE_TIMEOUT_MS, type ConsoleOptions, type ConsoleResult, type SourceConsole } from '../../console.ts';
import { ExecError, exec } from '../../os/exec.ts';
import { rootOf } from '../machine/processes.ts';

/** Console through the kernel: programs enter the namespaces and the root of a simulated source's first process. */
export class NamespaceConsole implements SourceConsole {
  /** @param pid of that process */
  constructor(private readonly pid: number) {}

  async run(argv: readonly string[], options: ConsoleOptions = {}): Promise<ConsoleResult> {
    const { stdin, signal, timeoutMs = CONSOLE_TIMEOUT_MS } = options;
    try {
      const { stdout, stderr } = await exec('nsenter', this.#enter(argv), {
        timeoutMs,
        ...(stdin !== undefined && { input: stdin }),
        ...(signal && { signal }),
      });
      return { exitCode: 0, stdout, stderr };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ExecError)) throw error;
      if (rootOf(this.pid) === null) throw new MayflyError('source_not_running', 'It was stopped meanwhile.');
      return { exitCode: error.exitCode, stdout: error.stdout, stderr: error.stderr };
    }
  }

  async writeFile(path: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
    const child = spawn('nsenter', this.#enter(['/usr/bin/dd', `of=${path}`, 'bs=64k', 'status=none']), {
      stdio: ['pipe', 'ignore', 'ignore'],
      ...(signal && { signal }),
    });
    child.stdin.on('error', () => {}); // EPIPE of a program that ended: the status has the reason
    child.stdin.end(bytes);
    const [status] = await once(child, 'exit');
    if (status !== 0)
      throw new MayflyError('prepare_failed', `${path} cannot be written in it (dd ended with ${status}).`);
  }

  #enter(argv: readonly string[]): string[] {
    return [
      `--target=${this.pid}`,
      '--mount',
      '--uts',
      '--pid',
      '--root',
      '--wd=/',
      '--',
      '/usr/bin/env',
      '-i',
      ...argv,
    ];
  }
}
