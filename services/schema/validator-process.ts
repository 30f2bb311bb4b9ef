import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Answer, Doing, Question, Said } from './messages.ts';

/** Of /proc: a tick is a hundredth of a second on Linux, for every program. Milliseconds. */
const TICK_MS = 10;

/**
 * Calls back when a process has used so much processor time from now on, which a busy machine makes no shorter.
 * It does not hold our own process.
 * @param limitMs at 10 ms each, of all threads of the process
 * @returns ends the watch
 */
function afterProcessorTime(pid: number, limitMs: number, used: () => void): () => void {
  const begun = processorMs(pid);
  const look = (): void => {
    const left = limitMs - (processorMs(pid) - begun);
    if (left <= 0) used();
    else timer = setTimeout(look, Math.max(left, TICK_MS)).unref();
  };
  let timer = setTimeout(look, limitMs).unref();
  return () => clearTimeout(timer);
}

/** @returns milliseconds; 0 of a process that is gone, whose end says the rest */
function processorMs(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const [user, system] = [fields[11], fields[12]]; // utime and stime of proc_pid_stat(5), counted from the state
    return (Number(user) + Number(system)) * TICK_MS;
  } catch {
    return 0;
  }
}

const PROGRAM = fileURLToPath(new URL('./validator/main.mjs', import.meta.url));

/** What one question may take. Times are processor time, in milliseconds. */
export interface ProcessLimits {
  compileMs: number;
  validateMs: number;
  /** Of the heap of JavaScript, for compiled schemas and the data in hand together. MiB. */
  heapMiB: number;
}

/** Why there is no answer: the time was used up, or the process ended of itself, which memory makes it do. */
export type NoAnswer = 'time' | 'ended';

/**
 * The process in which schemas of others are compiled and run. It is no thread of ours: V8 ends the whole process when a
 * regular expression is compiled with little of the stack left, and who writes the schema and the data can bring that
 * about. It has no environment of ours, does not outlive this process (`setpriv --pdeathsig`), and does not hold it.
 */
export class ValidatorProcess {
  readonly #child: ChildProcess;
  readonly #limits: ProcessLimits;
  readonly #ended: Promise<void>;
  #isOver = false;
  /** Of who waits for it: one at a time. */
  #hears: ((said: Said | null) => void) | null = null;

  private constructor(limits: ProcessLimits) {
    this.#limits = limits;
    const argv = ['--pdeathsig', 'KILL', '--', process.execPath, `--max-old-space-size=${limits.heapMiB}`, PROGRAM];
    this.#child = spawn('setpriv', argv, {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.on('error', () => {}); // a message that does not reach it, a program that is not there: its end says the rest
    this.#ended = new Promise<void>((resolve) => this.#child.once('close', resolve)).then(() => {
      this.#isOver = true;
      this.#hears?.(null);
    });
    this.#child.on('message', (said: Said) => this.#hears?.(said));
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** @returns one that takes a question; null when it ended before it could */
  static async start(limits: ProcessLimits): Promise<ValidatorProcess | null> {
    const started = new ValidatorProcess(limits);
    const isReady = new Promise<boolean>((resolve) => {
      started.#hears = (said) => resolve(said?.said === 'ready');
    });
    return (await isReady) ? started : null;
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** One question at a time. A process that gives no answer is over when this returns. */
  async ask(question: Question): Promise<Answer | NoAnswer> {
    let stop = () => {};
    const limit = (doing: Doing, late: (why: NoAnswer) => void): void => {
      stop();
      const limitMs = doing === 'compiles' ? this.#limits.compileMs : this.#limits.validateMs;
      stop = afterProcessorTime(this.pid, limitMs, () => late('time'));
    };
    const answer = await new Promise<Answer | NoAnswer>((resolve) => {
      this.#hears = (said) => {
        if (said === null) resolve('ended');
        else if (said.said === 'answer') resolve(said.answer);
        else if (said.said !== 'ready') limit(said.said, resolve);
      };
      if (this.#isOver) return resolve('ended');
      limit('compiles', resolve);
      this.#child.send(question);
    });
    stop();
    this.#hears = null;
    if (typeof answer === 'string') await this.kill();
    return answer;
  }

  /** @returns when it has ended */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
