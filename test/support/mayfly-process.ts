import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { eventually } from './eventually.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/mayfly', import.meta.url));
const ready = z.object({ apiUrl: z.string(), keyFile: z.string() });
const keyFile = z.object({ apiKey: z.string() });

/** Program `bin/mayfly` as a child process of a test. */
export class MayflyProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: string[] = [];
  readonly #listeners = new Set<() => void>();
  #isOver = false;

  /** @param program `@default` this version's */
  constructor(args: string[], env: NodeJS.ProcessEnv, program = PROGRAM) {
    const child = spawn(process.execPath, [program, ...args], {
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    const notify = () => {
      for (const listener of this.#listeners) listener();
    };
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        this.#lines.push(line);
        notify();
      });
    }
    this.#exited = once(child, 'close').finally(() => {
      this.#isOver = true;
      notify();
    });
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('mayfly has not been started');
    return this.#child.pid;
  }

  /** Returns its resident memory, MiB. */
  residentMib(): number {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1_024;
  }

  get output(): string {
    return this.#lines.join('\n');
  }

  /** Returns the first past or future line of output with this text. @throws Error when it ends without */
  async line(text: string): Promise<string> {
    for (;;) {
      const found = this.#lines.find((line) => line.includes(text));
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`mayfly ended without saying ${text}:\n${this.output}`);
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }

  /** Resolves with the URL and key of `mayfly up --json` once it serves. */
  async serves(): Promise<{ baseUrl: string; apiKey: string }> {
    const { apiUrl, keyFile: path } = ready.parse(JSON.parse(await this.line('"apiUrl"')));
    const { apiKey } = keyFile.parse(JSON.parse(await readFile(path, 'utf8')));
    return { baseUrl: apiUrl, apiKey };
  }

  send(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** @returns exit code, or terminating signal */
  async end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    if (signal) this.send(signal);
    await this.#exited;
    return this.#child.exitCode ?? this.#child.signalCode;
  }
}

/** Lists `<pid> <command>` of every process with this folder in its arguments, or its root below it. */
export function processesOf(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      const isOurs = command.includes(folder) || readlinkSync(`/proc/${pid}/root`).startsWith(folder);
      return isOurs ? [`${pid} ${command}`] : [];
    } catch {
      return []; // ended since the listing
    }
  });
}

/** Waits until there is none; polls, since these are not child processes. */
export async function noProcessOf(folder: string): Promise<void> {
  await eventually(() => processesOf(folder), { length: 0 });
}

export async function waitUntilReady(baseUrl: string): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${baseUrl}/readyz`);
    return answer.ok || answer.text();
  }, true);
}
