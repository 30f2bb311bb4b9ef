import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type { CommandInputs, CommandRecord, EndSignal } from '../../model/sandbox/command.ts';
import { FrameReader } from '../../model/sandbox/output-frame.ts';
import { Mask } from '../../model/secrets/mask.ts';
import type { OutputPosition } from '../../store/commands/output.ts';
import { getTail } from '../../store/commands/output-tail.ts';
import type { Store } from '../../store/connect.ts';
import type { Hypervisor } from '../hypervisor.ts';
import type { StepContext } from '../step-context.ts';
import { type Agent, AgentCommands, exitOf } from './agent-commands.ts';
import {
  type CommandEnd,
  cancelledBeforeStart,
  changesAtEnd,
  endBySandbox,
  interruptedEnd,
  toExitedEnd,
  unknownEnd,
} from './command-ending.ts';
import { ensureStarted } from './ensure-started.ts';
import { GuestClock } from './guest-clock.ts';
import { MaskedFrames, maskOf, withoutSecrets } from './masked-frames.ts';
import { type Backlog, OutputWriter } from './output-writer.ts';
import { CommandDeadline } from './overdue.ts';

export interface CommandRunDeps {
  store: Store;
  hypervisor: Pick<Hypervisor, 'whereabouts'>;
  guests: { agent(sandboxId: string, context: StepContext): Promise<Agent> };
  logger: Pick<Logger, 'info'>;
  /** Extra time, see {@link CommandDeadline}. */
  spareMs?: number;
}

/** Permanent failures of the guest; `not_found` is output that someone in the guest has deleted. */
const PERMANENT_FAILURES: ReadonlySet<ErrorCode> = new Set(['guest_failed', 'not_found']);
/** Interval between progress updates of the record while output comes, ms. */
const PROGRESS_MS = 2_000;
/** Interval between two polls of a hibernated sandbox, ms. */
const HIBERNATED_POLL_MS = 1_000;
/**
 * Runs one command to its end: starts it unless it was started, stores its output, writes its record. When this stops
 * at any moment, also by SIGKILL, the command continues, and another run resumes from there.
 */
export class CommandRun {
  /** Current phase, shown in Temporal. */
  detail = 'connecting to the guest';
  readonly #interruption = new AbortController();
  readonly #signal: AbortSignal;
  #withheld: CommandEnd | null = null;
  #cancelled: Promise<void> | null = null;
  #toldStarted: (commands: AgentCommands) => void = () => {};
  /** Resolves when the guest has started the command; never if it will not. */
  readonly started = new Promise<AgentCommands>((resolve) => {
    this.#toldStarted = resolve;
  });
  #recordedRunning: Promise<void> = Promise.resolve();
  #startedAt: string | null = null;
  readonly #guestClock = new GuestClock();
  #forgotten: Promise<void> | null = null;
  #overdue: CommandDeadline | null = null;
  #writer: OutputWriter | null = null;
  /** Mask of a command with secrets: all output of its guest is redacted. */
  #mask = new Mask([]);
  #masked: MaskedFrames | null = null;
  #progressAt = Date.now();
  #tidied: Promise<void> = Promise.resolve();

  constructor(
    private readonly deps: CommandRunDeps,
    private readonly commandId: string,
    private readonly backlog: Backlog,
    private readonly stop: AbortSignal,
  ) {
    this.#signal = AbortSignal.any([stop, this.#interruption.signal]);
  }

  /** Returns the record of the ended command. @throws MayflyError temporary failures; the signal's reason */
  async run(): Promise<CommandRecord> {
    const { commands, commandInputs } = this.deps.store;
    // In parallel, since most often this is the start: the inputs exist only until the command has started.
    const [record, inputs] = await Promise.all([commands.get(this.commandId), commandInputs.get(this.commandId)]);
    if (!record) throw new MayflyError('command_not_found', `The store has no record of ${this.commandId}.`);
    if (record.state === 'ended') return record;
    try {
      this.#mask = await maskOf(record, this.deps.store.attemptSecrets);
      if (record.state === 'running') await this.#awaitWake(record);
      return await this.#end(record, await this.#runInGuest(record, inputs));
    } catch (error) {
      this.stop.throwIfAborted();
      const ending = await this.#endingBy(record, error);
      if (!ending) throw withoutSecrets(error, this.#mask);
      return await this.#end(record, ending);
    } finally {
      this.#overdue?.end();
      await this.#writer?.abandon();
    }
  }

  /** Ends the command's process tree, or prevents its start. Resolves when the guest has accepted the cancel. */
  cancel(signal: EndSignal): Promise<void> {
    this.withhold(cancelledBeforeStart());
    this.#cancelled ??= this.started
      .then((commands) => commands.cancel(this.commandId, signal))
      .then(() => this.#overdue?.cancelled())
      .catch((error: unknown) => {
        this.#cancelled = null; // a repeated cancel is sent again
        throw error;
      });
    return this.#cancelled;
  }

  /** Prevents the start of a command not started yet; `ending` is then its end. */
  withhold(ending: CommandEnd): void {
    this.#withheld ??= ending;
  }

  /** Ends the run for its caller because the sandbox is being restored, independent of the guest. */
  interrupt(): void {
    this.#interruption.abort(new MayflyError('sandbox_not_running', 'Its sandbox is being restored.'));
  }

  tidied(): Promise<void> {
    return this.#tidied;
  }

  /** Waits while the sandbox is hibernated: neither the guest nor the host is polled. */
  async #awaitWake({ sandboxId }: CommandRecord): Promise<void> {
    while ((await this.deps.store.sandboxes.get(sandboxId))?.state === 'hibernated') {
      this.detail = 'its sandbox is hibernated';
      await sleep(HIBERNATED_POLL_MS, undefined, { signal: this.#signal });
    }
  }

  async #runInGuest(record: CommandRecord, inputs: CommandInputs | null): Promise<CommandEnd> {
    const alive = (detail: string) => {
      this.detail = detail;
    };
    const agent = await this.deps.guests.agent(record.sandboxId, { signal: this.#signal, alive });
    const overdue = new CommandDeadline(record.spec, this.deps.spareMs);
    this.#overdue = overdue;
    void overdue.watch(this.deps.store.sandboxes, record.sandboxId);
    const commands = new AgentCommands(agent, AbortSignal.any([this.#signal, overdue.signal]));
    const status = await ensureStarted(record, commands, inputs, () => this.#withheld);
    if ('outcome' in status) return status;
    if (record.state === 'running') {
      this.deps.logger.info({ commandId: this.commandId }, 'goes on with a command that runs');
    }
    this.detail = 'it runs';
    this.#startedAt = this.#guestClock.startOf(record, status.startedAt, agent.clockSkewMs);
    const running = { state: 'running', startedAt: this.#startedAt } as const;
    if (record.state === 'requested') this.#recordedRunning = this.deps.store.commands.update(this.commandId, running);
    // A run that resumes removes the inputs too, in case its predecessor stopped before that.
    this.#forgotten = this.#recordedRunning.then(() => this.deps.store.commandInputs.remove(this.commandId));
    this.#forgotten.catch(() => undefined); // awaited when the end is written; a sweep catches up otherwise
    this.#toldStarted(commands);
    return this.#follow(record, commands, status.output);
  }

  async #follow({ spec }: CommandRecord, commands: AgentCommands, fromStart: Readable | null): Promise<CommandEnd> {
    const onStored = (kept: OutputPosition) => this.#recordProgress(kept);
    const options = { output: this.deps.store.output, commandId: this.commandId, backlog: this.backlog, onStored };
    const isAgain = spec.isMasked;
    const writer = fromStart ? OutputWriter.begin(options) : await OutputWriter.resume(options, { isAgain });
    this.#writer = writer;
    this.#masked = spec.isMasked ? new MaskedFrames(this.#mask) : null;
    const reader = new FrameReader();
    const body = fromStart ?? (await commands.output(this.commandId, writer.from));
    for await (const piece of body as AsyncIterable<Buffer>) {
      for (const item of reader.push(piece)) {
        if ('exit' in item) return toExitedEnd(exitOf(item.exit));
        const frame = this.#masked ? this.#masked.push(item) : item;
        if (frame) writer.add(frame);
      }
      const { stdout, stderr } = this.#masked?.taken ?? writer.kept;
      if (Math.max(stdout, stderr) > spec.maxOutputBytes) {
        throw new MayflyError('guest_failed', 'The guest sent more output than is to be kept.');
      }
      await writer.room();
    }
    throw new MayflyError('guest_unreachable', 'The guest stopped sending output before the end of the command.');
  }

  async #recordProgress({ stdout, stderr }: OutputPosition): Promise<void> {
    if (Date.now() - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = Date.now();
    await this.#recordedRunning;
    await this.deps.store.commands.update(this.commandId, {
      stdout: { bytes: stdout, kept: stdout },
      stderr: { bytes: stderr, kept: stderr },
    });
  }

  /** Returns the end of a command when a retry cannot learn more; else null. */
  async #endingBy(record: CommandRecord, error: unknown): Promise<CommandEnd | null> {
    const hasStarted = record.state === 'running' || this.#startedAt !== null;
    if (this.#interruption.signal.aborted) return interruptedEnd('was restored', { hasStarted });
    if (error instanceof MayflyError && PERMANENT_FAILURES.has(error.code)) return unknownEnd(error.message);
    return endBySandbox(record, hasStarted, this.deps);
  }

  /** Writes the end with the output's sizes. Does not wait for the cleanup. */
  async #end(record: CommandRecord, ending: CommandEnd): Promise<CommandRecord> {
    const { exit } = ending;
    for (const frame of this.#masked?.end(this.#writer?.kept ?? null, exit) ?? []) this.#writer?.add(frame);
    this.#masked = null;
    await Promise.all([this.#writer?.finish(), this.#recordedRunning]);
    const kept = this.#writer?.kept ?? (await this.#storedSizes());
    const known = { kept, startedAt: this.#startedAt, clock: this.#guestClock, mask: this.#mask };
    const changes = changesAtEnd(record, ending, known);
    await this.deps.store.commands.update(this.commandId, changes);
    this.#tidied = this.#cleanUp(record.sandboxId, exit !== null);
    return { ...record, ...changes };
  }

  /**
   * Cleans up, first in the guest, so that readers of the stored end are not delayed. A sweep repeats a missed cleanup
   * for unclosed commands, and the guest's copy ends with its sandbox.
   */
  async #cleanUp(sandboxId: string, isInGuest: boolean): Promise<void> {
    const { commandInputs, activity } = this.deps.store;
    const inGuest = async () => isInGuest && (await this.started).forgetOutput(this.commandId);
    const inStore = async () => {
      await (this.#forgotten ?? commandInputs.remove(this.commandId));
      await activity.closeCommand(sandboxId, this.commandId);
    };
    await Promise.allSettled([inGuest()]);
    await Promise.allSettled([inStore()]);
  }

  async #storedSizes(): Promise<OutputPosition> {
    const { stdout, stderr } = await getTail(this.deps.store.output, this.commandId);
    return { stdout: stdout.end, stderr: stderr.end };
  }
}
