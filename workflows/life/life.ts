import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  patched,
  setHandler,
} from '@temporalio/workflow';
import type { HostProposals, HostRef } from '../../model/host.ts';
import type { ContinuedLife } from '../../model/sagas/continued-life.ts';
import type { SandboxInput, SandboxPatch, StopRequest } from '../../model/sagas/messages.ts';
import { requestedRecord } from '../../model/sagas/requested-record.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import {
  type Actor,
  askedHostsOf,
  isFinal,
  isSettled,
  type SandboxPhase,
  type SandboxRecord,
  type StepTiming,
  type StopReason,
} from '../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../model/sandbox/timeouts.ts';
import { assertTransition } from '../../model/sandbox/transitions.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { runContinues } from '../saga/continuing.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { accepted, destroy, hostForgotten, patch, restoreRecord, settled, touch } from '../saga/messages.ts';
import { now } from '../saga/now.ts';
import { Deadline } from './deadline.ts';
import { Forgotten } from './forgotten.ts';
import { MachineDeath } from './machine-death.ts';
import { Patches } from './patches.ts';
import { show } from './shown.ts';

const { recordRequested, recordFound, remember, rewriteRecord, recall } = controlUntilDone;

/** A phase that is over before anybody could look at it costs an operation a write for nothing. Milliseconds. */
const SHOWN_AFTER_MS = 100;

/** Operations of a sandbox that is taken over are numbered by the seconds since. Milliseconds since 1970. */
const FIRST_OPERATION = Date.UTC(2026, 0, 1);

type Changes = Partial<Omit<SandboxRecord, 'id' | 'name' | 'updatedAt'>>;

/**
 * One sandbox as its workflow knows it: the record as last written, what callers ask of it meanwhile, and when it
 * shall end. All writes of the record go through here, one after another.
 */
export class Life {
  readonly id: string;
  readonly timeouts: Timeouts;
  /** Its create is two activities of several steps, see create-sandbox.ts. Lives that began before that was so are replayed as they were. */
  readonly hasMultiStepCreate: boolean;
  /** What is over of its create, then of the latest operation besides, then of its end. */
  steps: StepTiming[] = [];
  /** The record as it stands in the store. */
  record: SandboxRecord;
  /** The step that failed last: the one to name when the create fails, since undos do not fail. */
  failedStep = 'workflow';
  /** How many snapshots its disks refer to, as its latest snapshot found. */
  chainLength = 0;
  /** Its end has come, by a delete, a timer or its machine's death, though its record may not say so yet: what is under way is cut short. */
  shallEnd = false;
  /** Something is being done to it, so it is not idle. */
  isOperatedOn = false;
  /** Its run is about to continue as new: what arrives now is for the next one. */
  isClosing = false;
  readonly patches: Patches;
  readonly death: MachineDeath;
  #written = false;
  /** Why there will never be a record. */
  #refusal: Error | null = null;
  #stop: StopRequest | null = null;
  /** Which of the hosts that were asked were given up. */
  readonly forgotten: Forgotten;
  readonly #deadline: Deadline;
  #events = 0;
  #createSteps: StepTiming[] | null = null;
  #operations = 0;
  #unwritten: Changes = {};
  #writing: Promise<unknown> = Promise.resolve();

  constructor(private readonly input: SandboxInput) {
    this.id = input.id;
    this.hasMultiStepCreate = input.hostIds !== undefined;
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
    const { continued } = input;
    this.record = continued?.record ?? requestedRecord(input);
    this.patches = new Patches(this, continued?.patches);
    this.forgotten = new Forgotten(this, continued?.forgottenHosts);
    this.#deadline = new Deadline(this, continued?.usedAt);
    // How many operations there were nobody knows: more than one a second there cannot have been.
    if (input.begin === 'takeOver') this.#operations = Math.floor((Date.now() - FIRST_OPERATION) / 1_000);
    this.death = new MachineDeath(this);
    if (continued) this.#goOn(continued);
    this.#answerMessages();
  }

  /**
   * Writes the first record; for a takeover, reads the one that is there.
   * @throws ApplicationFailure name_taken: nothing is written, and whoever asked has heard of it
   */
  async begin(): Promise<void> {
    if (this.#written) return;
    const { name, spec, createdBy } = this.input;
    const event = this.#event('sandbox.requested', { ...(name !== undefined && { name }), spec }, createdBy);
    try {
      this.record = await this.#firstRecord(event);
    } catch (error) {
      this.#refusal = error instanceof Error ? error : new Error(String(error));
      await condition(allHandlersFinished);
      throw error;
    }
    this.steps = this.record.steps;
    this.#written = true;
  }

  #firstRecord(event: AuditEvent): Promise<SandboxRecord> {
    const { begin } = this.input;
    if (begin === 'create') return recordRequested({ record: this.record, event });
    if (this.foundOn === null) return recall({ id: this.id });
    return recordFound({
      record: this.record,
      event: { ...event, kind: 'sandbox.found', detail: { foundOn: this.foundOn } },
    });
  }

  /** Enters a phase of the create. It is written when its step takes long enough for somebody to look, see {@link timed}. */
  enter(phase: SandboxPhase, changes: Changes = {}): void {
    this.#unwritten = { ...this.#unwritten, ...changes, state: 'creating', phase };
  }

  /**
   * Changes the record and appends to the audit trail, shielded from cancellation: what happened is written down
   * also when the sandbox is being cancelled.
   */
  async recordChange(
    kind: AuditKind,
    changed: Changes = {},
    detail: Record<string, unknown> = {},
    actor: Actor | null = null,
  ): Promise<void> {
    const changes = { ...this.#unwritten, ...changed };
    this.#unwritten = {};
    const { state, phase } = changes;
    const event = this.#event(kind, { ...(state && { state }), ...(phase && { phase }), ...detail }, actor);
    show(this.record, changes, this.hasMultiStepCreate);
    await CancellationScope.nonCancellable(() => {
      const write = this.#writing.then(async () => {
        if (state && this.#keepsTransitions()) assertTransition(this.id, this.record.state, state);
        this.record = await this.#write({ ...changes, steps: this.steps, updatedAt: event.at }, event);
      });
      this.#writing = write.catch(() => undefined); // the caller sees its failure; the next write still runs
      return write;
    });
  }

  /** What it knows itself counts for more than a store that was set back to an earlier time: then all of it is written. */
  async #write(changes: Changes & Pick<SandboxRecord, 'updatedAt'>, event: AuditEvent): Promise<SandboxRecord> {
    const known = { ...this.record, ...changes };
    try {
      const stored = await remember({ sandboxId: this.id, changes, event });
      if (hasSame(stored, known) || !patched('store-may-be-set-back')) return stored;
    } catch (error) {
      const { code } = failureOf(error, 'remember');
      if (code === 'sandbox_ended') return known; // Temporal was set back: it has ended, and is only removed once more
      if (code !== 'sandbox_not_found') throw error;
    }
    return rewriteRecord({ record: known, event });
  }

  /**
   * As {@link measured}. Where it takes longer than {@link SHOWN_AFTER_MS}, its phase is written meanwhile; a quicker
   * one is told with the next change.
   */
  async timed<T>(step: string, run: () => Promise<T>): Promise<T> {
    return this.measured(step, async () => {
      let isOver = false;
      const result = run().finally(() => {
        isOver = true;
      });
      result.catch(() => undefined); // thrown below, when the condition has not been cancelled before
      const isQuick = await condition(() => isOver, SHOWN_AFTER_MS);
      if (!isQuick && Object.keys(this.#unwritten).length > 0) await this.recordChange('sandbox.state');
      return result;
    });
  }

  /** Runs a step, and remembers how long it took, or that it failed. */
  async measured<T>(step: string, run: () => Promise<T>): Promise<T> {
    const startedAt = now();
    try {
      const value = await run();
      this.steps = [...this.steps, { step, startedAt, endedAt: now() }];
      return value;
    } catch (error) {
      this.failedStep = step;
      throw error;
    }
  }

  /** Something begins to be done to it: its number, from 1. Of the steps before, only the create's are still told. */
  beginOperation(): number {
    this.#createSteps ??= this.steps;
    this.steps = this.#createSteps;
    this.isOperatedOn = true;
    this.failedStep = 'workflow';
    return ++this.#operations;
  }

  /** How many operations were begun. */
  get operations(): number {
    return this.#operations;
  }

  endOperation(): void {
    this.isOperatedOn = false;
    this.used();
  }

  /** Another workflow had it before, and is gone: what that knew, and did not write down, nobody knows. */
  get isTakenOver(): boolean {
    return this.input.begin !== 'create';
  }

  /** Its machine is another's to shut down. */
  get mayBeOff(): boolean {
    return this.input.mayBeOff ?? false;
  }

  /** Where something of it was found though it has no record, or has ended; null: it was not. */
  get foundOn(): string | null {
    return this.input.foundOn ?? null;
  }

  /** As {@link foundOn}, with its installation. */
  get foundHost(): HostRef | null {
    const { foundOn, installations } = this.input;
    return foundOn === undefined ? null : { hostId: foundOn, installationId: installations?.[foundOn] ?? null };
  }

  /** By the API, when it was asked for. */
  get proposedHosts(): HostProposals {
    const { hostIds = [], installations = {} } = this.input;
    return { hostIds, installations };
  }

  /** Resolves when the sandbox shall end: somebody asked for it, a timer ran out, or its machine is dead. */
  untilEnd(): Promise<StopReason> {
    return this.#deadline.untilReached(
      () => (this.#stop ? 'deleted' : this.death.failure && 'machine-ended'),
      () => {
        this.shallEnd = true;
      },
    );
  }

  /** The sandbox is in use: the idle timer starts anew. */
  used(): void {
    this.#deadline.used();
  }

  /** As its record, or the store, says. @param at milliseconds since 1970 */
  lastUsed(at: number): void {
    this.#deadline.lastUsed(at);
  }

  get isEnding(): boolean {
    if (this.#stop !== null || this.death.failure !== null) return true;
    if (this.record.state === 'destroying' || isFinal(this.record.state)) return true;
    return this.shallEnd && patched('an-end-is-decided-once');
  }

  /** Who asked for the end, if somebody did. */
  get stoppedBy(): Actor | null {
    return this.#stop?.actor ?? null;
  }

  /** Takes no more messages, and resolves when all that was asked is answered and written. */
  async close(): Promise<void> {
    this.isClosing = true;
    await condition(allHandlersFinished);
    await this.#writing;
  }

  /** Goes on as another run. To be called when it is closed. */
  continueAsNew({ outcomes, ending }: Pick<ContinuedLife, 'outcomes' | 'ending'>): Promise<never> {
    const continued: ContinuedLife = {
      record: this.record,
      steps: this.steps,
      createSteps: this.#createSteps,
      usedAt: this.#deadline.usedAt,
      operations: this.#operations,
      outcomes,
      chainLength: this.chainLength,
      patches: [...this.patches.ids],
      stop: this.#stop,
      forgottenHosts: this.forgotten.hostIds,
      ending,
    };
    return continueAsNew<(input: SandboxInput) => Promise<unknown>>({ ...this.input, continued });
  }

  #goOn({ steps, createSteps, operations, chainLength, stop }: ContinuedLife): void {
    this.steps = steps;
    this.#createSteps = createSteps;
    this.#operations = operations;
    this.chainLength = chainLength;
    this.#stop = stop;
    this.#written = true;
  }

  /** @throws ApplicationFailure run_continues */
  checkOpen(): void {
    if (this.isClosing) throw runContinues();
  }

  #answerMessages(): void {
    const validator = () => this.checkOpen();
    const whenWritten = async () => {
      await condition(() => this.#written || this.#refusal !== null);
      if (this.#refusal) throw this.#refusal;
    };
    setHandler(accepted, whenWritten, { validator });
    setHandler(settled, () => this.#whenSettled(), { validator });
    const change = async (wished: SandboxPatch) => {
      await whenWritten();
      await this.patches.change(wished);
      return wished.isReadThen ? null : this.record;
    };
    setHandler(patch, change, {
      validator: (_wished) => {
        this.checkOpen();
        this.patches.check();
      },
    });
    const restore = async () => {
      await whenWritten();
      if (!isFinal(this.record.state)) await this.recordChange('sandbox.state'); // which looks what is there
    };
    setHandler(restoreRecord, restore, { validator });
    setHandler(touch, () => this.used());
    setHandler(hostForgotten, ({ hostId, actor }) => {
      if (!askedHostsOf(this.record).some((asked) => asked.hostId === hostId)) return;
      if (this.record.hostId === hostId) this.#stop ??= { actor };
      this.forgotten.giveUp(hostId);
    });
    setHandler(destroy, (request) => {
      this.#stop ??= request;
    });
  }

  async #whenSettled(): Promise<void> {
    await condition(() => isSettled(this.record.state) || this.#refusal !== null || this.isClosing);
    if (this.#refusal) throw this.#refusal;
    if (!isSettled(this.record.state)) throw runContinues();
  }

  /** Lives that took over what had ended, before that was not done any more, are replayed as they were. */
  #keepsTransitions(): boolean {
    return !isFinal(this.record.state) || patched('an-end-is-final');
  }

  #event(kind: AuditKind, detail: Record<string, unknown>, actor: Actor | null) {
    return auditEvent(this.#events++, { kind, actor, hostId: this.record.hostId, detail });
  }
}

/** What the life of a sandbox, and a proof, depend on. */
const DECISIVE = ['state', 'hostId', 'createdAt', 'runningAt', 'expiresAt', 'stopReason', 'parentSnapshotId'] as const;

function hasSame(one: SandboxRecord, other: SandboxRecord): boolean {
  return DECISIVE.every((field) => one[field] === other[field]);
}
