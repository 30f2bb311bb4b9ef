import { allHandlersFinished, condition, continueAsNew, setHandler } from '@temporalio/workflow';
import { type HostProposals, isSameHost } from '../../model/host.ts';
import { TEMPORAL_OPERATOR } from '../../model/sagas/cancellation.ts';
import type { ContinuedLife } from '../../model/sagas/continued-life.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { StopRequest } from '../../model/sagas/stop-request.ts';
import type { Actor, StepTiming, StopReason } from '../../model/sandbox/sandbox.ts';
import { isFinal, isSettled } from '../../model/sandbox/sandbox-state.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../model/sandbox/timeouts.ts';
import { whenCancelled } from '../saga/cancellation.ts';
import { runContinues } from '../saga/continuing.ts';
import { accepted, destroy, hostForgotten, restoreRecord, settled } from '../saga/messages.ts';
import { Turns } from '../saga/turns.ts';
import { Deadline } from './deadline.ts';
import { Forgotten } from './forgotten.ts';
import { MachineDeath } from './machine-death.ts';
import { RecordedLife } from './recorded-life.ts';

/** Operations of a sandbox that is taken over are numbered by the seconds since. Milliseconds since 1970. */
const FIRST_OPERATION = Date.UTC(2026, 0, 1);

/** One sandbox as its workflow knows it: its record, what callers ask of it meanwhile, and when it shall end. */
export class Life extends RecordedLife {
  readonly timeouts: Timeouts;
  /** How many snapshots its disks refer to, as its latest snapshot found. */
  chainLength = 0;
  /** They refer to one that was needed for a moment, and is deleted. */
  hasDeletedLayer = false;
  /** Its end has come, by a delete, a timer or its machine's death, though its record may not say so yet: what is under way is cut short. */
  shallEnd = false;
  /** Something is being done to it, so it is not idle. */
  isOperatedOn = false;
  /** Its run is about to continue as new: what arrives now is for the next one. */
  isClosing = false;
  /** The template that it would have woken from; null: none, as far as is known. */
  templateKey: string | null = null;
  /** Messages that change it, and the decisions of its timers: one after another. */
  readonly inbox = new Turns();
  /** Spec updates that were made, by the ids of their updates, the oldest first. */
  readonly patchIds: string[];
  readonly death: MachineDeath;
  #stop: StopRequest | null = null;
  #isRetired = false;
  /** Which of the hosts that were asked were given up. */
  readonly forgotten: Forgotten;
  readonly #deadline: Deadline;
  #createSteps: StepTiming[] | null = null;
  #operations = 0;

  constructor(input: SandboxInput) {
    super(input);
    this.timeouts = { ...DEFAULT_TIMEOUTS, ...input.timeouts };
    const { continued } = input;
    this.patchIds = [...(continued?.patches ?? [])];
    this.forgotten = new Forgotten(this, continued?.forgottenHosts);
    this.#deadline = new Deadline(this, continued?.usedAt);
    this.death = new MachineDeath(this);
    if (continued) this.#goOn(continued);
    this.#answerMessages();
  }

  /** Something begins to be done to it: its number, from 1. Of the steps before, only the create's are still told. */
  beginOperation(): number {
    this.#createSteps ??= this.steps;
    this.steps = this.#createSteps;
    this.isOperatedOn = true;
    this.failedStep = 'workflow';
    // How many operations there were nobody knows: more than one a second there cannot have been.
    this.#operations ||= this.begins === 'takeOver' ? Math.floor((Date.now() - FIRST_OPERATION) / 1_000) : 0;
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
    return this.begins !== 'create';
  }

  /** Its machine is another's to shut down. */
  get mayBeOff(): boolean {
    return this.input.mayBeOff ?? false;
  }

  /** Its cable is never in, so nobody can log in to it. */
  get isOffline(): boolean {
    return this.input.template === 'builder';
  }

  /** No other host than the one that was proposed may make it. */
  get isBound(): boolean {
    return this.input.template !== undefined;
  }

  /** Why it is made anew, though there is a pool. */
  get missed(): SandboxInput['missed'] {
    return this.input.missed;
  }

  /** By the API, when it was asked for. */
  get proposedHosts(): HostProposals {
    const { hosts, content } = this.input;
    return { hosts, ...(content !== undefined && { content }) };
  }

  /** Resolves when the sandbox shall end: somebody asked for it, a timer ran out, or its machine is dead. */
  untilEnd(): Promise<StopReason> {
    return this.#deadline.untilReached(
      () => (this.#stop ? this.#stopReason : this.death.failure && 'machine-ended'),
      () => {
        this.shallEnd = true;
      },
    );
  }

  get #stopReason(): StopReason {
    return this.#isRetired ? 'retired' : 'deleted';
  }

  /** It ends, since its pool needs it no more. */
  retire(): void {
    if (this.isEnding) return;
    this.#isRetired = true;
    this.#stop = { actor: this.record.createdBy };
  }

  /** @param hibernate is called when a sandbox that wants that is idle */
  onIdle(hibernate: () => void): void {
    this.#deadline.hibernate = hibernate;
  }

  /** The sandbox is in use: the idle timer starts anew. */
  used(): void {
    this.#deadline.used();
  }

  /** As its record, or the store, says. @param at milliseconds since 1970 */
  lastUsed(at: number): void {
    this.#deadline.lastUsed(at);
  }

  /** It ends, or is about to. */
  get isEnding(): boolean {
    if (this.#stop !== null || this.death.failure !== null) return true;
    if (this.record.state === 'destroying' || isFinal(this.record.state)) return true;
    return this.shallEnd;
  }

  /** Who asked for the end, if somebody did. */
  get stoppedBy(): Actor | null {
    return this.#stop?.actor ?? null;
  }

  /** Takes no more messages, and resolves when all that was asked is answered and written. */
  async close(): Promise<void> {
    this.isClosing = true;
    await condition(allHandlersFinished);
    await this.written();
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
      hasDeletedLayer: this.hasDeletedLayer,
      patches: this.patchIds,
      stop: this.#stop,
      forgottenHosts: this.forgotten.hosts,
      ending,
    };
    return continueAsNew<(input: SandboxInput) => Promise<unknown>>({ ...this.input, continued });
  }

  #goOn({ steps, createSteps, operations, chainLength, hasDeletedLayer = false, stop }: ContinuedLife): void {
    this.steps = steps;
    this.#createSteps = createSteps;
    this.#operations = operations;
    this.chainLength = chainLength;
    this.hasDeletedLayer = hasDeletedLayer;
    this.#stop = stop;
  }

  /** @throws ApplicationFailure run_continues */
  checkOpen(): void {
    if (this.isClosing) throw runContinues();
  }

  #answerMessages(): void {
    const validator = () => this.checkOpen();
    setHandler(accepted, () => this.begun(), { validator });
    setHandler(settled, () => this.#whenSettled(), { validator });
    const restore = async () => {
      await this.begun();
      if (!isFinal(this.record.state)) await this.recordChange('sandbox.state'); // which looks what is there
    };
    setHandler(restoreRecord, restore, { validator });
    setHandler(hostForgotten, ({ hostId, actor }) => {
      const asked = this.record.askedHosts.filter((host) => host.hostId === hostId);
      if (asked.some((host) => isSameHost(this.record, host))) this.#stop ??= { actor };
      for (const host of asked) this.forgotten.giveUp(host);
    });
    const stop = (request: StopRequest) => {
      this.#stop ??= request;
    };
    setHandler(destroy, stop);
    whenCancelled(() => stop({ actor: TEMPORAL_OPERATOR }));
  }

  async #whenSettled(): Promise<void> {
    await condition(() => isSettled(this.record.state) || this.refusal !== null || this.isClosing);
    if (this.refusal) throw this.refusal;
    if (!isSettled(this.record.state)) throw runContinues();
  }
}
