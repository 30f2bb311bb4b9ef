import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { exec } from '../../../../host/os/exec.ts';
import { goTestEnv } from '../../../support/go-test-env.ts';

/** Builds the forge program. @returns its path */
export async function buildForge(folder: string): Promise<string> {
  const [program, source] = [join(folder, 'forge'), fileURLToPath(new URL('forge/main.go', import.meta.url))];
  await exec('go', ['build', '-o', program, source], { env: goTestEnv });
  return program;
}

/** End of a cable: sends frames, and collects incoming ones. */
export class WireEnd {
  readonly #frames: string[] = [];
  readonly #listener: ChildProcessByStdio<null, Readable, null>;
  readonly #sender: ChildProcessByStdio<Writable, null, null>;
  #look = () => {};

  private constructor(forge: string, name: string) {
    this.#listener = spawn(forge, ['listen', name], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#sender = spawn(forge, ['send', name], { stdio: ['pipe', 'ignore', 'inherit'] });
    createInterface(this.#listener.stdout).on('line', (line) => {
      this.#frames.push(line);
      this.#look();
    });
  }

  /** @returns once every incoming frame is captured */
  static async open(forge: string, name: string): Promise<WireEnd> {
    const end = new WireEnd(forge, name);
    await end.until('ready');
    return end;
  }

  send(frame: string, count = 1): void {
    this.#sender.stdin.write(`${count} ${frame}\n`);
  }

  /** Waits for a frame. @returns all new frames up to it */
  async until(frame: string): Promise<string[]> {
    while (!this.#frames.includes(frame)) await this.#more();
    return this.#frames.splice(0, this.#frames.indexOf(frame) + 1);
  }

  /** Waits for the next frame. @returns all new frames */
  async some(): Promise<string[]> {
    while (this.#frames.length === 0) await this.#more();
    return this.#frames.splice(0);
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#look = resolve;
    });
  }

  async close(): Promise<void> {
    for (const child of [this.#listener, this.#sender]) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
  }
}
