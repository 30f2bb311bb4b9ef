import type { SearchAttributePair } from '@temporalio/common';
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  setCurrentDetails,
  Trigger,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import { type EntityState, initialEntityState } from '../../model/sagas/entity-state.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { newSandboxRecord } from '../../model/sagas/requested-record.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor, SandboxPhase, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { SandboxState } from '../../model/sandbox/sandbox-state.ts';
import { assertTransition } from '../../model/sandbox/transitions.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { hostAttribute, stateAttribute } from '../saga/messages.ts';
import { now } from '../saga/now.ts';
import { SerialQueue } from '../saga/serial-queue.ts';

const { recordRequested, recordFound, remember, rewriteRecord, recall } = controlUntilDone;

/** States in which a repeated create continues: its steps check before they act. */
const CREATING_STATES: ReadonlySet<SandboxState> = new Set(['requested', 'creating']);

type Changes = Partial<Omit<SandboxRecord, 'id' | 'name' | 'updatedAt'>>;

type WrittenChanges = Changes & Pick<SandboxRecord, 'steps' | 'updatedAt'>;
type WriteRecord = (changes: WrittenChanges, event: AuditEvent) => Promise<SandboxRecord>;

/** State of one sandbox, and the only writer of its record: writes run one after another. */
export class RecordWriter {
  readonly id: string;
  readonly state: EntityState;
  /** Resolves when the store has the first record. Rejects with the reason if it never will. */
  readonly begun = new Trigger<void>();
  /** Latest failed step, named when the create fails, since compensations do not fail. */
  failedStep = 'workflow';
  /** True when an earlier run of this create got further: the workflow was reset to its first task. */
  #isReset = false;
  #events = 0;
  #unwritten: Changes = {};
  protected readonly writes = new SerialQueue();

  constructor(readonly input: SandboxInput) {
    this.id = input.id;
    this.state = input.continued ?? initialEntityState(newSandboxRecord(input), Date.now());
  }

  /** Record as in the store. */
  get record(): SandboxRecord {
    return this.state.record;
  }

  /** Way in which the workflow starts: an adoption when a finished create was reset. */
  get begins(): SandboxInput['begin'] {
    return this.#isReset ? 'takeOver' : this.input.begin;
  }

  /**
   * Writes the first record; for an adoption, reads the present one.
   * @throws ApplicationFailure name_taken: nothing is written, and all callers are answered
   */
  async begin(): Promise<void> {
    const { name, spec, createdBy, begin, continued } = this.input;
    if (continued) return this.begun.resolve();
    const event = this.#event('sandbox.requested', { ...(name !== undefined && { name }), spec }, createdBy);
    try {
      this.state.record = await this.#firstRecord(event);
    } catch (error) {
      this.begun.reject(error);
      await condition(allHandlersFinished);
      throw error;
    }
    this.state.steps = this.record.steps;
    this.#isReset = begin === 'create' && !CREATING_STATES.has(this.record.state);
    this.begun.resolve();
  }

  #firstRecord(event: AuditEvent): Promise<SandboxRecord> {
    const { begin, foundOn } = this.input;
    if (begin === 'create') return recordRequested({ record: this.record, event });
    if (!foundOn) return recall({ id: this.id });
    const found = { ...event, kind: 'sandbox.found', detail: { foundOn: foundOn.hostId } } as const;
    return recordFound({ record: this.record, event: found });
  }

  /** Enters a phase of the create, which the next change writes. */
  enter(phase: SandboxPhase, changes: Changes = {}): void {
    this.#unwritten = { ...this.#unwritten, ...changes, state: 'creating', phase };
  }

  /**
   * Changes the record and appends to the audit trail, after earlier changes and shielded from cancellation.
   * @param write `@default` writes the changes
   */
  async recordChange(
    kind: AuditKind,
    changed: Changes = {},
    detail: Record<string, unknown> = {},
    actor: Actor | null = null,
    write: WriteRecord = (changes, event) => this.#write(changes, event),
  ): Promise<void> {
    const changes = { ...this.#unwritten, ...changed };
    this.#unwritten = {};
    const { state, phase } = changes;
    const event = this.#event(kind, { ...(state && { state }), ...(phase && { phase }), ...detail }, actor);
    const change = async () => {
      const before = this.record;
      if (state) assertTransition(this.id, before.state, state);
      this.state.record = await write({ ...changes, steps: this.state.steps, updatedAt: event.at }, event);
      showState(before, changes);
    };
    await CancellationScope.nonCancellable(() => this.writes.run(change));
  }

  /** Writes the changes; the whole record when the store was restored to an earlier time. */
  async #write(changes: WrittenChanges, event: AuditEvent): Promise<SandboxRecord> {
    const updated = { ...this.record, ...changes };
    try {
      const stored = await remember({ sandboxId: this.id, changes, event });
      if (hasSame(stored, updated)) return stored;
    } catch (error) {
      const { code } = failureOf(error, 'remember');
      if (code === 'sandbox_ended') return updated; // Temporal was restored to an earlier time
      if (code !== 'sandbox_not_found') throw error;
    }
    return rewriteRecord({ record: updated, event });
  }

  /** Runs a step and records its time, or its failure in {@link failedStep}. */
  async measureStep<T>(step: string, run: () => Promise<T>): Promise<T> {
    const startedAt = now();
    try {
      const value = await run();
      this.state.steps = [...this.state.steps, { step, startedAt, endedAt: now() }];
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

/** Fields that decide about a sandbox and its proof. */
const DECISIVE_FIELDS = [
  'state',
  'hostId',
  'createdAt',
  'runningAt',
  'expiresAt',
  'stopReason',
  'parentSnapshotId',
] as const;

function hasSame(one: SandboxRecord, other: SandboxRecord): boolean {
  return DECISIVE_FIELDS.every((field) => one[field] === other[field]);
}

/** Shows the sandbox's state in the Temporal UI, in one upsert of the changes. */
function showState(before: SandboxRecord, { state, phase, hostId, waitingFor }: Changes): void {
  const pairs: SearchAttributePair[] = [];
  if (state && state !== before.state) pairs.push({ key: stateAttribute, value: state });
  if (hostId && hostId !== before.hostId) pairs.push({ key: hostAttribute, value: hostId });
  if (pairs.length > 0) upsertSearchAttributes(pairs);
  const line = [state ?? before.state, phase, waitingFor && `waiting for ${waitingFor}`].filter(Boolean).join(' · ');
  setCurrentDetails(line);
}
