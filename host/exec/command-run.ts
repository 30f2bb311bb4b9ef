import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import type {
  CommandExit,
  CommandInputs,
  CommandRecord,
  EndSignal,
  OutputStream,
} from '../../model/sandbox/command.ts';
import { isMachineEndCode } from '../../model/sandbox/machine-end.ts';
import { FrameReader } from '../../model/sandbox/output-frame.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { Mask } from '../../model/secrets/mask.ts';
import type { OutputPlace } from '../../store/commands/output.ts';
import { tailOf } from '../../store/commands/output-tail.ts';
import type { Store } from '../../store/connect.ts';
import type { Hypervisor } from '../hypervisor.ts';
import type { StepContext } from '../step-context.ts';
import { type Agent, AgentCommands, type CommandStatus, exitOf } from './agent-commands.ts';
import { cancelledBeforeStart, type Ending, exited, interrupted, notStarted, unknown } from './command-ending.ts';
import { GuestClock } from './guest-clock.ts';
import { MaskedFrames } from './masked-frames.ts';
import { type Backlog, OutputWriter } from './output-writer.ts';
import { Overdue } from './overdue.ts';

export interface CommandRunDeps {
  store: Store;
  hypervisor: Pick<Hypervisor, 'whereabouts'>;
  guests: { agent(sandboxId: string, context: StepContext): Promise<Agent> };
  logger: Pick<Logger, 'info'>;
  /** See {@link Overdue}. */
  spareMs?: number;
}

/** Failures that say nothing of whether a command was started. Every other one of a start means that it was not. */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set([
  'guest_unreachable',
  'guest_failed',
  'host_key_mismatch',
  'host_unavailable',
]);
/** Failures that stay, however often the guest is asked; `not_found` is output that somebody there has deleted. */
const GUEST_AT_FAULT: ReadonlySet<ErrorCode> = new Set(['guest_failed', 'not_found']);
const ENDING: ReadonlySet<SandboxState> = new Set(['destroying', 'destroyed', 'failed']);
/** How often the record says how much is stored, while output comes. Milliseconds. */
const PROGRESS_MS = 2_000;
/** How soon one goes on whose sandbox was hibernated, and is not any more. Milliseconds. */
const ASLEEP_MS = 1_000;
const NOTHING_KEPT: OutputPlace = { stdout: 0, stderr: 0 };

/**
 * Sees one command to its end: starts it unless it was started, brings its output into the store, writes its record.
 * Whoever stops this at any moment, also by SIGKILL, leaves the command as it is, and another goes on where it was.
 */
export class CommandRun {
  /** What it is at, for whoever looks at Temporal. */
  detail = 'connecting to the guest';
  readonly #interruption = new AbortController();
  readonly #signal: AbortSignal;
  #withheld: Ending | null = null;
  #cancelled: Promise<void> | null = null;
  #toldStarted: (commands: AgentCommands) => void = () => {};
  /** Resolves when the guest has started the command; never when it will not. */
  readonly started = new Promise<AgentCommands>((resolve) => {
    this.#toldStarted = resolve;
  });
  #recordedRunning: Promise<void> = Promise.resolve();
  #startedAt: string | null = null;
  readonly #guestClock = new GuestClock();
  #forgotten: Promise<void> | null = null;
  #overdue: Overdue | null = null;
  #writer: OutputWriter | null = null;
  /** Of one that was given secrets: nothing that its guest says is kept as it is. */
  #mask: Mask | null = null;
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

  /**
   * The record of the command that has ended.
   * @throws MayflyError what keeps it from going on for now; the signal's reason
   */
  async run(): Promise<CommandRecord> {
    const { commands, commandInputs } = this.deps.store;
    // Together, since most often this is its start: its inputs are there only as long as it has not started.
    const [record, inputs] = await Promise.all([commands.get(this.commandId), commandInputs.get(this.commandId)]);
    if (!record) throw new MayflyError('command_not_found', `The store has no record of ${this.commandId}.`);
    if (record.state === 'ended') return record;
    try {
      this.#mask = record.spec.isMasked ? await this.#maskOf(record) : null;
      if (record.state === 'running') await this.#whileAsleep(record);
      return await this.#end(record, await this.#runInGuest(record, inputs));
    } catch (error) {
      this.stop.throwIfAborted();
      const ending = await this.#endingBy(record, error);
      if (!ending) throw this.#withoutSecrets(error);
      return await this.#end(record, ending);
    } finally {
      this.#overdue?.end();
      await this.#writer?.abandon();
    }
  }

  /** Ends the command's process tree, or keeps it from being started. Resolves when the guest has taken the wish. */
  cancel(signal: EndSignal): Promise<void> {
    this.withhold(cancelledBeforeStart());
    this.#cancelled ??= this.started
      .then((commands) => commands.cancel(this.commandId, signal))
      .then(() => this.#overdue?.cancelled())
      .catch((error: unknown) => {
        this.#cancelled = null; // who asks again is to be heard
        throw error;
      });
    return this.#cancelled;
  }

  /** Should the command not have been started yet, it is not; this is then its end. */
  withhold(ending: Ending): void {
    this.#withheld ??= ending;
  }

  /** Its sandbox is being put back: it is over for its caller, whatever the guest does with it until then. */
  interrupt(): void {
    this.#interruption.abort(new MayflyError('sandbox_not_running', 'Its sandbox is being restored.'));
  }

  /** Resolves when nothing is done any more; after {@link run}. */
  tidied(): Promise<void> {
    return this.#tidied;
  }

  /** Its guest can tell nothing as long as its sandbox is hibernated: neither that nor the host is asked meanwhile. */
  async #whileAsleep({ sandboxId }: CommandRecord): Promise<void> {
    while ((await this.deps.store.sandboxes.get(sandboxId))?.state === 'hibernated') {
      this.detail = 'its sandbox is hibernated';
      await sleep(ASLEEP_MS, undefined, { signal: this.#signal });
    }
  }

  async #runInGuest(record: CommandRecord, inputs: CommandInputs | null): Promise<Ending> {
    const alive = (detail: string) => {
      this.detail = detail;
    };
    const agent = await this.deps.guests.agent(record.sandboxId, { signal: this.#signal, alive });
    const overdue = new Overdue(record.spec, this.deps.spareMs);
    this.#overdue = overdue;
    void overdue.watch(this.deps.store.sandboxes, record.sandboxId);
    const commands = new AgentCommands(agent, AbortSignal.any([this.#signal, overdue.signal]));
    const status = await this.#ensureStarted(record, commands, inputs);
    if ('outcome' in status) return status;
    if (record.state === 'running') {
      this.deps.logger.info({ commandId: this.commandId }, 'goes on with a command that runs');
    }
    this.detail = 'it runs';
    this.#startedAt = this.#startedByHost(record, status, agent.clockSkewMs);
    this.#recordedRunning = this.#recordRunning(record, this.#startedAt);
    // What it needed for its start is forgotten also by whoever goes on, should the one before not have come to it.
    this.#forgotten = this.#recordedRunning.then(() => this.deps.store.commandInputs.remove(this.commandId));
    this.#forgotten.catch(() => undefined); // told when the end is written, or made up for by a sweep
    this.#toldStarted(commands);
    return this.#follow(record, commands, status.output);
  }

  async #ensureStarted(
    { state, spec }: CommandRecord,
    commands: AgentCommands,
    inputs: CommandInputs | null,
  ): Promise<CommandStatus | Ending> {
    try {
      const mayStart = state === 'requested' && inputs !== null && !this.#withheld;
      return await (mayStart ? commands.start(this.commandId, spec, inputs) : commands.status(this.commandId));
    } catch (error) {
      if (!(error instanceof MayflyError) || NO_ANSWER.has(error.code)) throw error;
      if (state === 'running') return unknown('The guest knows nothing of it any more.');
      if (error.code !== 'command_not_found') return notStarted(error.code, error.message);
      return this.#withheld ?? notStarted('internal', 'What it needed for its start is not in the store any more.');
    }
  }

  /** When it was started; of one that goes on as it is recorded, by which the clock of its guest is known again. */
  #startedByHost(record: CommandRecord, { startedAt }: CommandStatus, skewMs: number): string | null {
    const { requestedAt, startedAt: recorded } = record;
    if (startedAt === null) return recorded;
    const now = new Date().toISOString();
    this.#guestClock.measure(startedAt, recorded === null ? [requestedAt, now] : [recorded, recorded], skewMs);
    return this.#guestClock.toHost(startedAt);
  }

  async #recordRunning({ state }: CommandRecord, startedAt: string | null): Promise<void> {
    if (state === 'requested') await this.deps.store.commands.update(this.commandId, { state: 'running', startedAt });
  }

  /** Brings the output into the store until it ends. */
  async #follow({ spec }: CommandRecord, commands: AgentCommands, fromStart: Readable | null): Promise<Ending> {
    const onStored = (kept: OutputPlace) => this.#recordProgress(kept);
    const options = { output: this.deps.store.output, commandId: this.commandId, backlog: this.backlog, onStored };
    const isAgain = this.#mask !== null;
    const writer = fromStart ? OutputWriter.begin(options) : await OutputWriter.resume(options, { isAgain });
    this.#writer = writer;
    this.#masked = this.#mask && new MaskedFrames(this.#mask);
    const reader = new FrameReader();
    const body = fromStart ?? (await commands.output(this.commandId, writer.from));
    for await (const piece of body as AsyncIterable<Buffer>) {
      for (const item of reader.push(piece)) {
        if ('exit' in item) return exited(exitOf(item.exit));
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

  async #recordProgress({ stdout, stderr }: OutputPlace): Promise<void> {
    if (Date.now() - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = Date.now();
    await this.#recordedRunning;
    await this.deps.store.commands.update(this.commandId, {
      stdout: { bytes: stdout, kept: stdout },
      stderr: { bytes: stderr, kept: stderr },
    });
  }

  /** The end of a command that nobody will ever know more of; null when another attempt may. */
  async #endingBy(record: CommandRecord, error: unknown): Promise<Ending | null> {
    const hasStarted = record.state === 'running' || this.#startedAt !== null;
    if (this.#interruption.signal.aborted) return interrupted('was restored', { hasStarted });
    if (error instanceof MayflyError && GUEST_AT_FAULT.has(error.code)) return unknown(error.message);
    const { domain } = await this.deps.hypervisor.whereabouts(record.sandboxId);
    // Read after the machine was looked at: whatever ends a sandbox writes that down before it touches the machine.
    const sandbox = await this.deps.store.sandboxes.get(record.sandboxId);
    if (!sandbox || ENDING.has(sandbox.state)) {
      const failure = sandbox?.failure;
      if (failure && isMachineEndCode(failure.code) && hasStarted) return unknown(failure.message);
      return interrupted('ended', { hasStarted });
    }
    if (sandbox.state === 'restoring') return null; // whether it is interrupted is for the restore to say
    if (domain === 'off') return unknown('Its machine went off, so nobody can tell how it ended.');
    if (domain === 'absent') return unknown('Its machine is gone, so nobody can tell how it ended.');
    return null;
  }

  /** Writes the end, with what came of the output; what is left to tidy up is not waited for. */
  async #end(record: CommandRecord, { exit, ...ending }: Ending): Promise<CommandRecord> {
    this.#addHeld(exit);
    await Promise.all([this.#writer?.finish(), this.#recordedRunning]);
    const kept = this.#writer?.kept ?? (await this.#stored());
    const written = (stream: OutputStream) => {
      if (record.spec.isMasked) return kept[stream] + lostOf(exit, stream);
      return Math.max(exit?.[stream].bytes ?? 0, kept[stream]);
    };
    const { reason, failure } = ending;
    const startedAt = this.#startedAt ?? (exit && this.#guestClock.toHost(exit.startedAt)) ?? record.startedAt;
    const now = new Date().toISOString();
    const guestEnd = exit?.endedAt ? this.#guestClock.toHostEnd(exit.endedAt, startedAt, now) : null;
    const changes = {
      ...ending,
      reason: reason === null ? null : this.#shown(reason),
      failure: failure && { ...failure, message: this.#shown(failure.message) },
      state: 'ended',
      endedAt: guestEnd ?? (ending.outcome === 'not-started' ? null : now),
      startedAt,
      stdout: { bytes: written('stdout'), kept: kept.stdout },
      stderr: { bytes: written('stderr'), kept: kept.stderr },
    } as const;
    await this.deps.store.commands.update(this.commandId, changes);
    this.#tidied = this.#tidy(record.sandboxId, exit !== null);
    return { ...record, ...changes };
  }

  /** What was held back of its output, since it might have become a secret. */
  #addHeld(exit: CommandExit | null): void {
    const isCut = (stream: OutputStream) => exit === null || lostOf(exit, stream) > 0;
    for (const frame of this.#masked?.end(this.#writer?.kept ?? NOTHING_KEPT, isCut) ?? []) this.#writer?.add(frame);
    this.#masked = null;
  }

  /** @throws MayflyError internal: what it prints is not to be kept without */
  async #maskOf({ id }: CommandRecord): Promise<Mask> {
    const given = await this.deps.store.attemptSecrets.get(id);
    if (given) return new Mask(given.map(({ value }) => value));
    throw new MayflyError('internal', `The secrets of ${id} are not in the store any more, so its output is not kept.`);
  }

  #shown(text: string): string {
    return this.#mask?.text(text) ?? text;
  }

  #withoutSecrets(error: unknown): unknown {
    if (!this.#mask || !(error instanceof MayflyError)) return error;
    return new MayflyError(error.code, this.#shown(error.message), error.options);
  }

  /**
   * First in the guest, so that who waits for the end may read it meanwhile. What is missed is made up for: a sweep looks
   * at commands that were not closed, and the guest's copy ends with its sandbox.
   */
  async #tidy(sandboxId: string, isInGuest: boolean): Promise<void> {
    const { commandInputs, activity } = this.deps.store;
    const inGuest = async () => isInGuest && (await this.started).forgetOutput(this.commandId);
    const inStore = async () => {
      await (this.#forgotten ?? commandInputs.remove(this.commandId));
      await activity.closeCommand(sandboxId, this.commandId);
    };
    await Promise.allSettled([inGuest()]);
    await Promise.allSettled([inStore()]);
  }

  async #stored(): Promise<OutputPlace> {
    const { stdout, stderr } = await tailOf(this.deps.store.output, this.commandId);
    return { stdout: stdout.end, stderr: stderr.end };
  }
}

/** What its guest did not keep. Bytes. */
function lostOf(exit: CommandExit | null, stream: OutputStream): number {
  return exit ? Math.max(0, exit[stream].bytes - exit[stream].kept) : 0;
}
