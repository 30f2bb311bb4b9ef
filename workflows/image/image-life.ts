import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { ImageFailure, ImageRecord } from '../../model/image/image.ts';
import type { CancelImage, ImageInput } from '../../model/image/image-saga.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from '../source/task-life.ts';

/** State of one build in its workflow, and the only writer of its record. */
export class ImageState extends TaskLife {
  /** Failure of a step of the Dockerfile; null: none. */
  failure: ImageFailure | null = null;

  /** Snapshot of the latest finished step. */
  lastSnapshot: string | null = null;
  #done: number;
  #events = 0;
  /** Events that the next change of the record appends to the audit trail. */
  #untold: AuditEvent[] = [];

  constructor(readonly input: ImageInput) {
    super(input.timeouts);
    this.#done = input.cached ?? input.first;
  }

  requested(): void {
    const { name, builder, stages, steps, bakeId, actor } = this.input;
    const builders = stages.map((stage) => stage.builder.id);
    const { source, network } = builder.spec;
    const cached = this.#done;
    this.#addEvent('image.requested', actor, { name, source, network, steps, cached, builders, bakeId });
  }

  cancelAsked({ actor }: CancelImage): void {
    this.#addEvent('image.cancel-asked', actor, {});
  }

  /** Ends the build, with the outcome in the audit trail before the record. */
  async over(state: 'ready' | 'failed' | 'cancelled', changes: Partial<ImageRecord>): Promise<void> {
    const { code, line, exitCode } = changes.failure ?? {};
    const snapshotId = this.lastSnapshot ?? this.input.snapshotId;
    this.#addEvent(`image.${state}`, this.input.actor, { done: this.#done, snapshotId, code, line, exitCode });
    await this.recordChange({ ...changes, state, waitingFor: null });
  }

  async stepDone(snapshotId: string): Promise<void> {
    this.#done += 1;
    this.lastSnapshot = snapshotId;
    await this.recordChange({ done: this.#done, snapshotId });
  }

  /** Changes the record. @returns true when it was final before: the workflow was reset */
  async recordChange(changes: Partial<ImageRecord>): Promise<boolean> {
    setCurrentDetails([changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const { imageId } = this.input;
    const events = this.#untold;
    this.#untold = [];
    const change = { imageId, changes: { ...changes, updatedAt: now() }, events };
    return CancellationScope.nonCancellable(() => controlUntilDone.rememberImage(change));
  }

  #addEvent(kind: AuditKind, actor: Actor, detail: Record<string, unknown>): void {
    this.#untold.push(auditEvent(this.#events++, { kind, actor, hostId: null, detail }));
  }
}
