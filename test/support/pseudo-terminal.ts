import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { eventually } from './eventually.ts';
import { TestScreen } from './screen.ts';

export interface PseudoTerminalOptions {
  columns?: number;
  rows?: number;
  env?: NodeJS.ProcessEnv;
}

/** Shell script on its own terminal, made by script(1) of util-linux, with the screen it shows. */
export class PseudoTerminal {
  readonly screen: TestScreen;
  readonly folder = mkdtempSync(join(tmpdir(), 'mayfly-pty-'));
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<unknown>;
  #raw = '';

  /** @param script for bash, with job control; `$HERE` is its own folder */
  constructor(script: string, { columns = 100, rows = 24, env = {} }: PseudoTerminalOptions = {}) {
    this.screen = new TestScreen(columns, rows);
    const whole = `tty > "$HERE/tty"; stty cols ${columns} rows ${rows}; stty -g > "$HERE/before"; set -m; ${script}`;
    this.#child = spawn('script', ['-qfec', whole, '/dev/null'], {
      env: { ...process.env, SHELL: '/bin/bash', TERM: 'xterm', HERE: this.folder, ...env },
      stdio: 'pipe',
    });
    this.#ended = once(this.#child, 'close');
    const decoder = new StringDecoder('utf8');
    this.#child.stdout.on('data', (bytes: Buffer) => {
      const text = decoder.write(bytes);
      this.#raw += text;
      this.screen.write(text);
    });
  }

  /** Output so far. */
  get raw(): string {
    return this.#raw;
  }

  type(keys: string): void {
    this.#child.stdin.write(keys);
  }

  resize(columns: number, rows: number): void {
    [this.screen.columns, this.screen.rows] = [columns, rows];
    const tty = readFileSync(join(this.folder, 'tty'), 'utf8').trim();
    execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
  }

  /** Waits until the screen shows it. */
  async shows(what: string | RegExp): Promise<void> {
    await this.until(what, () =>
      typeof what === 'string' ? this.screen.text.includes(what) : what.test(this.screen.text),
    );
  }

  async until(what: unknown, holds: () => boolean): Promise<void> {
    await eventually(() => holds() || `${String(what)}; the screen:\n${this.screen.text}`, true);
  }

  /** Returns a file of the script's folder; empty: not written yet. */
  file(name: string): string {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  }

  async ended(): Promise<void> {
    await this.#ended;
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
