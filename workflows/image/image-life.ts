import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { ImageFailure, ImageRecord } from '../../model/image/image.ts';
import type { CancelImage, ImageInput } from '../../model/image/image-saga.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from '../source/task-life.ts';

/** One build, as its workflow knows it. All writes of its record go through here. */
export class ImageLife extends TaskLife {
  /** Why a step of the Dockerfile failed; null: none did. */
  failure: ImageFailure | null = null;

  /** Of the step that was done last. */
  lastSnapshot: string | null = null;
  #done: number;
  #events = 0;
  /** Not in the audit trail yet: they go there with the next change of the record. */
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
    this.#tell('image.requested', actor, { name, source, network, steps, cached, builders, bakeId });
  }

  cancelAsked({ actor }: CancelImage): void {
    this.#tell('image.cancel-asked', actor, {});
  }

  /** What became of it is in the audit before it is in the record. */
  async over(state: 'ready' | 'failed' | 'cancelled', changes: Partial<ImageRecord>): Promise<void> {
    const { code, line, exitCode } = changes.failure ?? {};
    const snapshotId = this.lastSnapshot ?? this.input.snapshotId;
    this.#tell(`image.${state}`, this.input.actor, { done: this.#done, snapshotId, code, line, exitCode });
    await this.recordChange({ ...changes, state, waitingFor: null });
  }

  async stepDone(snapshotId: string): Promise<void> {
    this.#done += 1;
    this.lastSnapshot = snapshotId;
    await this.recordChange({ done: this.#done, snapshotId });
  }

  /** Changes the record. @returns whether it was over before: the workflow was reset */
  async recordChange(changes: Partial<ImageRecord>): Promise<boolean> {
    setCurrentDetails([changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const { imageId } = this.input;
    const events = this.#untold;
    this.#untold = [];
    const change = { imageId, changes: { ...changes, updatedAt: now() }, events };
    return CancellationScope.nonCancellable(() => controlUntilDone.rememberImage(change));
  }

  #tell(kind: AuditKind, actor: Actor, detail: Record<string, unknown>): void {
    this.#untold.push(auditEvent(this.#events++, { kind, actor, hostId: null, detail }));
  }
}
