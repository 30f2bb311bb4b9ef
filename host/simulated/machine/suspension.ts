import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { MayflyError } from '../../../model/errors.ts';
import { readJson, writeJson } from '../../os/json-file.ts';
import { sendSignal } from '../../os/proc.ts';
import { isStopped, type ProcessTable } from './processes.ts';

/** Reason of a suspension, and processes stopped by the sandbox itself: those are not continued. */
const StoppedFile = z.strictObject({ why: z.enum(['paused', 'saving']), already: z.array(z.int()) });
type Stopped = z.infer<typeof StoppedFile>;

/** Timeout of a stop; beyond, a process hangs in the kernel. Milliseconds. */
const STOP_TIMEOUT_MS = 10_000;
/**
 * Time after which all processes are continued for a moment: a parent in vfork(2) stops only after its child continues,
 * and the child may have been stopped first. Milliseconds.
 */
const ROUND_MS = 200;
const RELAX_MS = 5;
/** Consecutive scans without movement: during the first, a process may have forked an unlisted one. */
const QUIET_SCANS = 2;

/**
 * Suspension of one simulated sandbox's processes (SIGSTOP, SIGCONT). A file of the workspace records it, so it
 * outlives this process, and a successor can end it.
 */
export class Suspension {
  readonly #path: string;

  constructor(
    private readonly sandboxId: string,
    workspace: string,
    private readonly processes: Pick<ProcessTable, 'of'>,
  ) {
    this.#path = join(workspace, 'stopped.json');
  }

  /** True when it was paused and all its processes are stopped. */
  async isPaused(): Promise<boolean> {
    if ((await this.#read())?.why !== 'paused') return false;
    return (await this.#pids()).every(isStopped);
  }

  /**
   * Stops the sandbox. @param onNoted called when that is recorded and nothing is stopped yet @throws MayflyError
   * sandbox_not_running; Error when a process does not stop
   */
  async pause(onNoted: () => Promise<void>): Promise<void> {
    await this.#assertOn();
    const { already } = await this.#note('paused');
    await onNoted();
    await this.#stop(already);
  }

  /**
   * Ends any suspension. @param onContinued called when all processes run and the record still exists
   * @throws MayflyError sandbox_not_running
   */
  async resume(onContinued: () => Promise<void>): Promise<void> {
    await this.#assertOn();
    const stopped = await this.#read();
    if (stopped) await this.#end(stopped, onContinued);
  }

  /** Runs a step while the sandbox is stopped. A paused one stays paused. @throws Error when a process does not stop */
  async during<T>(step: () => Promise<T>): Promise<T> {
    const before = await this.#read();
    const { already } = before?.why === 'paused' ? before : await this.#note('saving');
    try {
      await this.#stop(already);
      return await step();
    } finally {
      await this.thaw();
    }
  }

  /** Ends a suspension left by a {@link during} whose process was killed. */
  async thaw(): Promise<void> {
    const stopped = await this.#read();
    if (stopped?.why === 'saving') await this.#end(stopped, async () => {});
  }

  /** Removes the record of a sandbox without processes. */
  async forget(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  #pids(): Promise<readonly number[]> {
    return this.processes.of(this.sandboxId);
  }

  async #assertOn(): Promise<void> {
    if ((await this.#pids()).length > 0) return;
    throw new MayflyError('sandbox_not_running', `${this.sandboxId} is off, or not on this host any more.`);
  }

  async #end({ already }: Stopped, onContinued: () => Promise<void>): Promise<void> {
    await this.#continue(already);
    await onContinued();
    await this.forget();
  }

  /** Records the reason before anything is stopped. Processes stopped by an earlier suspension are ignored. */
  async #note(why: Stopped['why']): Promise<Stopped> {
    const before = await this.#read();
    const already = before?.already ?? (await this.#pids()).filter(isStopped);
    if (before?.why !== why) await writeJson(this.#path, { why, already });
    return { why, already };
  }

  async #stop(already: readonly number[]): Promise<void> {
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    let roundEnds = Date.now() + ROUND_MS;
    for (let quiet = 0; quiet < QUIET_SCANS; ) {
      const moving = (await this.#pids()).filter((pid) => !isStopped(pid));
      quiet = moving.length === 0 ? quiet + 1 : 0;
      if (Date.now() > deadline) {
        throw new Error(`Processes of ${this.sandboxId} cannot be stopped: ${moving.join(', ')}.`);
      }
      if (moving.length > 0 && Date.now() > roundEnds) {
        await this.#continue(already);
        await sleep(RELAX_MS);
        roundEnds = Date.now() + ROUND_MS;
      }
      for (const pid of moving) sendSignal(pid, 'SIGSTOP');
    }
  }

  /** Continues the youngest first, so that a shell never sees its job stopped. */
  async #continue(already: readonly number[]): Promise<void> {
    for (const pid of (await this.#pids()).toReversed()) if (!already.includes(pid)) sendSignal(pid, 'SIGCONT');
  }

  #read(): Promise<Stopped | null> {
    return readJson(this.#path, StoppedFile);
  }
}
