import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendSignal } from '../../host/os/proc.ts';

/** A process of an installation, as what keeps it running sees it. */
export interface Running {
  pid: number;
  /** Resolves when it has ended, by whatever. */
  ended: Promise<unknown>;
  /** What it said last, for a report. */
  said(): string;
}

/** One that ends by itself is started again after this, as systemd does. Milliseconds. */
const RESTART_MS = 300;
const LOOK_MS = 5;

/** Process of an installation, supervised: it is started again whenever it ends, unless it is held down. */
export class Part {
  #running: Running | null = null;
  #isHeld = true;
  #isOver = false;
  #loop: Promise<void> = Promise.resolve();
  /** How often it ended though nobody had killed it. */
  endedByItself = 0;
  #isKilled = false;

  /** @param start makes it; told again after each end. It may fail, and is tried again */
  constructor(
    readonly name: string,
    private readonly start: () => Promise<Running>,
  ) {}

  /** Starts it, and from then on again whenever it has ended. After {@link end} it does nothing: who is late starts nobody. */
  up(): void {
    if (!this.#isHeld || this.#isOver) return;
    this.#isHeld = false;
    this.#loop = this.#keep();
  }

  /** Kills it, at whatever instruction it is, and keeps it down until {@link up}. */
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

  /** Whether it stands still, as SIGSTOP leaves it (proc(5), `stat`). */
  get isStopped(): boolean {
    const stat = this.#read('stat');
    return stat !== null && stat.charAt(stat.lastIndexOf(')') + 2) === 'T';
  }

  /** Memory that it has in use now, MiB; null while it does not run. */
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
        // not started, because what it needs is not there yet: that is what the next turn is for
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
      return null; // it has just ended
    }
  }
}

/** The first of them that stands still, as soon as one does; null when `over` resolves first. The kernel tells nobody but its parent, which node does not pass on: so this looks. */
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
