import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Answer, Question, ValidatorMessage, ValidatorStep } from './messages.ts';

/** Clock tick of /proc, ms: 1/100 s on Linux, for every program. */
const TICK_MS = 10;

/**
 * Calls back when a process has used some processor time from now on; load of the machine does not shorten it. The
 * timer does not keep Node alive.
 * @param limitMs in steps of 10 ms, over all threads of the process
 * @returns a function that ends the watch
 */
function watchCpuTime(pid: number, limitMs: number, used: () => void): () => void {
  const startMs = processorMs(pid);
  const look = (): void => {
    const left = limitMs - (processorMs(pid) - startMs);
    if (left <= 0) used();
    else timer = setTimeout(look, Math.max(left, TICK_MS)).unref();
  };
  let timer = setTimeout(look, limitMs).unref();
  return () => clearTimeout(timer);
}

/** @returns milliseconds; 0 for an ended process, whose `close` event follows */
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

/** Limits of one question. Times are processor time, ms. */
export interface ProcessLimits {
  compileMs: number;
  validateMs: number;
  /** JavaScript heap for compiled schemas and the current data together, MiB. */
  heapMiB: number;
}

/** Reason of a missing answer: the time limit, or the end of the process, usually for lack of memory. */
export type NoAnswer = 'time' | 'ended';

/**
 * Child process that compiles and runs untrusted schemas. Not a worker thread: V8 aborts the whole process when it
 * compiles a regular expression with little stack left, which a schema and data can provoke. It inherits
 * only PATH, dies with this process (`setpriv --pdeathsig`), and does not keep Node alive.
 */
export class ValidatorProcess {
  readonly #child: ChildProcess;
  readonly #limits: ProcessLimits;
  readonly #ended: Promise<void>;
  #isOver = false;
  /** Handler of messages: one waiter at a time. */
  #hears: ((said: ValidatorMessage | null) => void) | null = null;

  private constructor(limits: ProcessLimits) {
    this.#limits = limits;
    const argv = ['--pdeathsig', 'KILL', '--', process.execPath, `--max-old-space-size=${limits.heapMiB}`, PROGRAM];
    this.#child = spawn('setpriv', argv, {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
    this.#child.on('error', () => {}); // an undelivered message or a missing program: `close` follows
    this.#ended = new Promise<void>((resolve) => this.#child.once('close', resolve)).then(() => {
      this.#isOver = true;
      this.#hears?.(null);
    });
    this.#child.on('message', (said: ValidatorMessage) => this.#hears?.(said));
    this.#child.unref();
    this.#child.channel?.unref();
  }

  /** @returns a process that takes questions; null when it ended before that */
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

  /** Sends one question at a time. A process without an answer has ended when this returns. */
  async ask(question: Question): Promise<Answer | NoAnswer> {
    let stop = () => {};
    const limit = (doing: ValidatorStep, late: (why: NoAnswer) => void): void => {
      stop();
      const limitMs = doing === 'compiles' ? this.#limits.compileMs : this.#limits.validateMs;
      stop = watchCpuTime(this.pid, limitMs, () => late('time'));
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

  /** Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}
