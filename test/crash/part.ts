import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../../host/os/proc.ts';

/** Running process of an installation, for its supervisor. */
export interface Running {
  pid: number;
  /** Resolves when it has ended, for any reason. */
  ended: Promise<unknown>;
  /** Returns its last output, for a report. */
  said(): string;
}

/** Delay of a restart after an unexpected end, as by systemd, ms. */
const RESTART_MS = 300;
const LOOK_MS = 5;

/** Supervised process of an installation: restarted whenever it ends, unless held down. */
export class Part {
  #running: Running | null = null;
  #isHeld = true;
  #isOver = false;
  #loop: Promise<void> = Promise.resolve();
  /** Number of ends without a kill. */
  endedByItself = 0;
  #isKilled = false;

  /** @param start starts the process, also after each end; retried when it fails */
  constructor(
    readonly name: string,
    private readonly start: () => Promise<Running>,
  ) {}

  /** Starts it, and restarts it whenever it has ended. No-op after {@link end}. */
  up(): void {
    if (!this.#isHeld || this.#isOver) return;
    this.#isHeld = false;
    this.#loop = this.#keep();
  }

  /** Kills it at any instruction, and keeps it down until {@link up}. */
  async down(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#isHeld = true;
    this.#isKilled = true;
    this.send(signal);
    await this.#loop;
  }

  /** Kills it for good. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.down();
  }

  send(signal: NodeJS.Signals): void {
    if (!this.#running) return;
    sendSignal(this.#running.pid, signal);
  }

  get pid(): number | null {
    return this.#running?.pid ?? null;
  }

  get said(): string {
    return this.#running?.said() ?? 'it does not run';
  }

  /** True when SIGSTOP has stopped it (proc(5), `stat`). */
  get isStopped(): boolean {
    const stat = this.#read('stat');
    return stat !== null && stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
  }

  /** Resident memory, MiB; null while it does not run. */
  get residentMib(): number | null {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(this.#read('status') ?? '') ?? [];
    return kib === undefined ? null : Number(kib) / 1_024;
  }

  async #keep(): Promise<void> {
    while (!this.#isHeld) {
      this.#isKilled = false;
      try {
        this.#running = await this.start();
        await this.#running.ended;
      } catch {
        // not started: its dependencies are not ready; the next turn retries
      }
      this.#running = null;
      if (this.#isHeld) return;
      if (!this.#isKilled) this.endedByItself++;
      await sleep(RESTART_MS);
    }
  }

  #read(file: string): string | null {
    if (!this.#running) return null;
    try {
      return readFileSync(`/proc/${this.#running.pid}/${file}`, 'utf8');
    } catch {
      return null; // has just ended
    }
  }
}

/**
 * Polls for the first stopped part; returns null when `over` resolves first. (Node does not report a stopped child.)
 */
export async function stoppedOf(parts: readonly Part[], over: Promise<unknown>): Promise<Part | null> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  over.then(end, end);
  while (!isOver) {
    const stopped = parts.find((part) => part.isStopped);
    if (stopped) return stopped;
    await sleep(LOOK_MS);
  }
  return parts.find((part) => part.isStopped) ?? null;
}
