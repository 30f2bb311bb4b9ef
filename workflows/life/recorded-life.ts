import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { requestedRecord } from '../../model/sagas/requested-record.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor, Boot, SandboxPhase, SandboxRecord, StepTiming } from '../../model/sandbox/sandbox.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { assertTransition } from '../../model/sandbox/transitions.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { Turns } from '../saga/turns.ts';
import { show } from './shown.ts';

const { recordRequested, recordClaim, recordFound, remember, rewriteRecord, recall } = controlUntilDone;

/** A phase that is over before anybody could look at it costs an operation a write for nothing. Milliseconds. */
const SHOWN_AFTER_MS = 100;

/** A create that is begun again goes on in these: its steps look before they act. */
const IN_CREATE: ReadonlySet<SandboxState> = new Set(['requested', 'creating']);

type Changes = Partial<Omit<SandboxRecord, 'id' | 'name' | 'updatedAt'>>;

/** What begins with a claim. */
export type ClaimedChanges = Partial<Omit<SandboxRecord, 'id' | 'project' | 'state' | 'steps' | 'updatedAt'>>;

/** The record of one sandbox, and the steps it tells of. All writes of it go through here, one after another. */
export class RecordedLife {
  readonly id: string;
  /** What is over of its create, then of the latest operation besides, then of its end. */
  steps: StepTiming[] = [];
  /** The record as it stands in the store. */
  record: SandboxRecord;
  /** The step that failed last: the one to name when the create fails, since undos do not fail. */
  failedStep = 'workflow';
  /** An earlier run of this create has come further: somebody has reset the workflow to its first task. */
  #isReset = false;
  #isBegun: boolean;
  #refusal: Error | null = null;
  #events = 0;
  #unwritten: Changes = {};
  readonly #writes = new Turns();

  constructor(protected readonly input: SandboxInput) {
    this.id = input.id;
    const { continued } = input;
    this.record = continued?.record ?? requestedRecord(input);
    this.#isBegun = continued !== undefined;
  }

  /** Why there will never be a record. */
  protected get refusal(): Error | null {
    return this.#refusal;
  }

  /** Beginning of its workflow: an adoption where a create was reset that had come to its end. */
  get begins(): SandboxInput['begin'] {
    return this.#isReset ? 'takeOver' : this.input.begin;
  }

  /** Way in which it came to its machine, also when that is not written yet. */
  get boot(): Boot | null {
    return this.#unwritten.boot ?? this.record.boot ?? null;
  }

  /** Resolves when the store has its record. @throws why there will never be one */
  async begun(): Promise<void> {
    await condition(() => this.#isBegun || this.#refusal !== null);
    if (this.#refusal) throw this.#refusal;
  }

  /** Resolves when all changes of before are in the store. */
  protected async written(): Promise<void> {
    await this.#writes.done();
  }

  /** Where something of it was found though it has no record, or has ended; null: it was not. */
  get foundOn(): HostRef | null {
    return this.input.foundOn ?? null;
  }

  /**
   * Writes the first record; for a takeover, reads the one that is there.
   * @throws ApplicationFailure name_taken: nothing is written, and whoever asked has heard of it
   */
  async begin(): Promise<void> {
    if (this.#isBegun) return;
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
    this.#isReset = this.input.begin === 'create' && !IN_CREATE.has(this.record.state);
    this.#isBegun = true;
  }

  #firstRecord(event: AuditEvent): Promise<SandboxRecord> {
    const { begin } = this.input;
    if (begin === 'create') return recordRequested({ record: this.record, event });
    if (this.foundOn === null) return recall({ id: this.id });
    return recordFound({
      record: this.record,
      event: { ...event, kind: 'sandbox.found', detail: { foundOn: this.foundOn.hostId } },
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
    show(this.record, changes);
    await this.#inOrder(state, () => this.#write({ ...changes, steps: this.steps, updatedAt: event.at }, event));
  }

  /**
   * Gives it to the caller who has claimed it, in one write.
   * @throws ApplicationFailure name_taken: then nothing is written
   */
  async recordClaimed(changes: ClaimedChanges, detail: Record<string, unknown>, actor: Actor): Promise<void> {
    const state = 'running';
    const event = this.#event('sandbox.claimed', { state, ...detail }, actor);
    const { project } = actor;
    await this.#inOrder(state, async () => {
      const changed = { ...changes, state, steps: this.steps, updatedAt: event.at } as const;
      const claimed = await recordClaim({ sandboxId: this.id, project, changes: changed, event });
      show(this.record, { state });
      return claimed;
    });
  }

  /** Writes of before are over, and a cancel does not cut it short. */
  #inOrder(state: SandboxState | undefined, write: () => Promise<SandboxRecord>): Promise<void> {
    const change = async () => {
      if (state) assertTransition(this.id, this.record.state, state);
      this.record = await write();
    };
    return CancellationScope.nonCancellable(() => this.#writes.take(change));
  }

  /** What it knows itself counts for more than a store that was set back to an earlier time: then all of it is written. */
  async #write(changes: Changes & Pick<SandboxRecord, 'updatedAt'>, event: AuditEvent): Promise<SandboxRecord> {
    const known = { ...this.record, ...changes };
    try {
      const stored = await remember({ sandboxId: this.id, changes, event });
      if (hasSame(stored, known)) return stored;
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

  #event(kind: AuditKind, detail: Record<string, unknown>, actor: Actor | null) {
    return auditEvent(this.#events++, { kind, actor, hostId: this.record.hostId, detail });
  }
}

/** What the life of a sandbox, and a proof, depend on. */
const DECISIVE = ['state', 'hostId', 'createdAt', 'runningAt', 'expiresAt', 'stopReason', 'parentSnapshotId'] as const;

function hasSame(one: SandboxRecord, other: SandboxRecord): boolean {
  return DECISIVE.every((field) => one[field] === other[field]);
}
