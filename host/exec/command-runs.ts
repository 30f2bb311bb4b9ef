import { EventEmitter, once, setMaxListeners } from 'node:events';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { CommandRecord, EndSignal } from '../../model/sandbox/command.ts';
import { notStartedEnd } from './command-ending.ts';
import { CommandRun, type CommandRunDeps } from './command-run.ts';
import type { Backlog } from './output-writer.ts';

interface ActiveRun {
  commandRun: CommandRun;
  ended: Promise<CommandRecord>;
}

/**
 * Commands that this worker runs to their end: one run each, whether Temporal, the relay or the worker's own start
 * requests it.
 */
export class CommandRuns {
  readonly #underWay = new Map<string, ActiveRun>();
  /** Emits events named by command id. */
  readonly #begun = new EventEmitter().setMaxListeners(0);
  readonly #tidying = new Set<Promise<void>>();
  readonly #backlog: Backlog = { bytes: 0 };
  readonly #stop = new AbortController();

  constructor(private readonly deps: CommandRunDeps) {
    setMaxListeners(0, this.#stop.signal); // one listener per command
  }

  /**
   * Runs a command to its end, starting it unless it was started; returns its record.
   * @throws MayflyError temporary failures; host_unavailable when this worker ends
   */
  runToEnd(commandId: string): Promise<CommandRecord> {
    return this.#of(commandId).ended;
  }

  /** Ends a command's process tree, or prevents its start. Resolves when the guest accepts that, or at its end. */
  async cancel(commandId: string, signal: EndSignal): Promise<void> {
    const { commandRun, ended } = this.#of(commandId);
    try {
      await Promise.race([commandRun.cancel(signal), ended]);
    } catch (error) {
      if (!isMayflyError(error, 'command_ended')) throw error;
    }
  }

  /** Ends a command that Temporal never got; if it runs nevertheless, follows it to its end. */
  async settle(commandId: string): Promise<void> {
    const { commandRun, ended } = this.#of(commandId);
    commandRun.withhold(
      notStartedEnd('temporal_unavailable', 'Temporal never got the command, so it was not started.'),
    );
    await ended;
  }

  /** Ends all commands of a sandbox that is being restored; resolves when their records are written. */
  async interruptAll(sandboxId: string): Promise<void> {
    const { openCommands } = await this.deps.store.activity.get(sandboxId);
    await Promise.all(
      openCommands.map(async (commandId) => {
        if (!(await this.deps.store.commands.get(commandId))) return; // its request died before it was recorded
        const { commandRun, ended } = this.#of(commandId);
        commandRun.interrupt();
        await ended;
      }),
    );
  }

  /**
   * Resolves when the command has started or ended. Waits for its run to begin here, so call it only for a `requested`
   * command. @throws the signal's reason
   */
  async whenStarted(commandId: string, signal: AbortSignal): Promise<void> {
    if (!this.#underWay.has(commandId)) await once(this.#begun, commandId, { signal });
    const underWay = this.#underWay.get(commandId);
    if (underWay) await Promise.race([underWay.commandRun.started, underWay.ended]);
  }

  /** Reports whether the store has a record of the command: a store restored from a backup may not. */
  async isKnown(commandId: string): Promise<boolean> {
    return (await this.deps.store.commands.get(commandId)) !== null;
  }

  isUnderWay(commandId: string): boolean {
    return this.#underWay.has(commandId);
  }

  /** Returns the phase of a running command; null without a run here. */
  detailOf(commandId: string): string | null {
    return this.#underWay.get(commandId)?.commandRun.detail ?? null;
  }

  /** Stops following all commands, which run on. Waiters are rejected at once. */
  async stop(): Promise<void> {
    this.#stop.abort(new MayflyError('host_unavailable', 'This host worker ends; another goes on with the command.'));
    await Promise.allSettled([...this.#underWay.values()].map(({ ended }) => ended));
    await Promise.all(this.#tidying);
  }

  #of(commandId: string): ActiveRun {
    const present = this.#underWay.get(commandId);
    if (present) return present;
    const commandRun = new CommandRun(this.deps, commandId, this.#backlog, this.#stop.signal);
    const underWay = { commandRun, ended: this.#run(commandId, commandRun) };
    this.#underWay.set(commandId, underWay);
    this.#begun.emit(commandId);
    underWay.ended.catch(() => undefined); // waiters get it; without one, the next run does
    return underWay;
  }

  async #run(commandId: string, commandRun: CommandRun): Promise<CommandRecord> {
    try {
      await Promise.resolve(); // so that it is added to the map before it is removed
      this.#stop.signal.throwIfAborted();
      return await commandRun.run();
    } finally {
      this.#underWay.delete(commandId);
      const tidied = commandRun.tidied().finally(() => this.#tidying.delete(tidied));
      this.#tidying.add(tidied);
    }
  }
}
