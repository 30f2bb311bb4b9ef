import { EventEmitter, once, setMaxListeners } from 'node:events';
import { MayflyError } from '../model/errors.ts';
import type { CommandRecord } from '../model/sandbox/command.ts';
import { notStarted } from './command-ending.ts';
import { Attendance, type AttendanceDeps } from './command-run.ts';
import type { Backlog } from './output-writer.ts';

interface Attended {
  attendance: Attendance;
  ended: Promise<CommandRecord>;
}

/**
 * The commands this worker sees to their end: one attendance each, whoever asks for it (Temporal, the relay, the
 * worker's own start).
 */
export class Attendances {
  readonly #deps: AttendanceDeps;
  readonly #attended = new Map<string, Attended>();
  /** Events are named by command. */
  readonly #begun = new EventEmitter().setMaxListeners(0);
  readonly #tidying = new Set<Promise<void>>();
  readonly #backlog: Backlog = { bytes: 0 };
  readonly #stop = new AbortController();

  constructor(deps: AttendanceDeps) {
    this.#deps = deps;
    setMaxListeners(0, this.#stop.signal); // some for each command
  }

  /**
   * Sees a command to its end, starting it unless it was started; the record then.
   * @throws MayflyError what keeps it from going on for now; host_unavailable when this worker ends
   */
  attend(commandId: string): Promise<CommandRecord> {
    return this.#of(commandId).ended;
  }

  /** Ends a command's process tree, or keeps it from being started. Resolves when the guest has the wish, or it ended. */
  async cancel(commandId: string): Promise<void> {
    const { attendance, ended } = this.#of(commandId);
    try {
      await Promise.race([attendance.cancel(), ended]);
    } catch (error) {
      if (!(error instanceof MayflyError && error.code === 'command_ended')) throw error;
    }
  }

  /** Ends a command that nobody handed over to Temporal; should it run nevertheless, sees it to its end. */
  async settle(commandId: string): Promise<void> {
    const { attendance, ended } = this.#of(commandId);
    attendance.withhold(notStarted('temporal_unavailable', 'Temporal never got the command, so it was not started.'));
    await ended;
  }

  /** Ends all commands of a sandbox that is being put back, and resolves when their records say so. */
  async interruptAll(sandboxId: string): Promise<void> {
    const { openCommands } = await this.#deps.store.uses.get(sandboxId);
    await Promise.all(
      openCommands.map(async (commandId) => {
        if (!(await this.#deps.store.commands.get(commandId))) return; // its request died before it was recorded
        const { attendance, ended } = this.#of(commandId);
        attendance.interrupt();
        await ended;
      }),
    );
  }

  /**
   * Resolves when a command is known to have started, or to have ended. Of one that is not attended here yet it waits for
   * that first, so only a command that is `requested` may be asked about.
   * @throws the signal's reason
   */
  async whenStarted(commandId: string, signal: AbortSignal): Promise<void> {
    if (!this.#attended.has(commandId)) await once(this.#begun, commandId, { signal });
    const attended = this.#attended.get(commandId);
    if (attended) await Promise.race([attended.attendance.started, attended.ended]);
  }

  isAttended(commandId: string): boolean {
    return this.#attended.has(commandId);
  }

  /** What the attendance of a command is at; null when there is none. */
  detailOf(commandId: string): string | null {
    return this.#attended.get(commandId)?.attendance.detail ?? null;
  }

  /** Lets go of all commands, which run on. Those who wait for one are told at once. */
  async stop(): Promise<void> {
    this.#stop.abort(new MayflyError('host_unavailable', 'This host worker ends; another goes on with the command.'));
    await Promise.allSettled([...this.#attended.values()].map(({ ended }) => ended));
    await Promise.all(this.#tidying);
  }

  #of(commandId: string): Attended {
    const present = this.#attended.get(commandId);
    if (present) return present;
    const attendance = new Attendance(this.#deps, commandId, this.#backlog, this.#stop.signal);
    const attended = { attendance, ended: this.#run(commandId, attendance) };
    this.#attended.set(commandId, attended);
    this.#begun.emit(commandId);
    attended.ended.catch(() => undefined); // told to whoever waits; without one, the next attendance finds out
    return attended;
  }

  async #run(commandId: string, attendance: Attendance): Promise<CommandRecord> {
    try {
      await Promise.resolve(); // so that it is in the map before it can leave it
      this.#stop.signal.throwIfAborted();
      return await attendance.run();
    } finally {
      this.#attended.delete(commandId);
      const tidied = attendance.tidied().finally(() => this.#tidying.delete(tidied));
      this.#tidying.add(tidied);
    }
  }
}
