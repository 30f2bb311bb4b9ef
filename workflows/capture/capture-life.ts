import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { CaptureRemembrance } from '../../activities/source/capture-record.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import { type CaptureInput, type CaptureRecord, newCapture } from '../../model/snapshots/capture.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { TaskLife } from '../source/task-life.ts';

const { recordCapture, rememberCapture, recallCapture } = controlUntilDone;

/** One task on the captures of a source, as its workflow knows it. All writes of the capture's record go through here. */
export class CaptureLife extends TaskLife {
  constructor(readonly input: CaptureInput) {
    super({ ...DEFAULT_TIMEOUTS, ...input.timeouts }.taskPauseMs);
  }

  /** Writes the record of a capture that begins. @returns it; of one that was begun before, as it is */
  begin(): Promise<CaptureRecord> {
    const { sourceId } = this.input;
    return recordCapture({ record: newCapture(this.input), sourceId, event: this.#event('capture.requested', {}) });
  }

  /** @throws ApplicationFailure capture_not_found */
  recall(): Promise<CaptureRecord> {
    return recallCapture({ captureId: this.input.captureId });
  }

  /** Changes the record; also when the workflow is being cancelled. */
  async recordChange(
    changes: CaptureRemembrance['changes'],
    said?: { kind: AuditKind; detail: Record<string, unknown> },
  ): Promise<void> {
    const { captureId, sourceId, task } = this.input;
    setCurrentDetails([task, changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const event = said ? this.#event(said.kind, said.detail) : null;
    await CancellationScope.nonCancellable(() => rememberCapture({ captureId, sourceId, changes, event }));
  }

  #event(kind: AuditKind, detail: Record<string, unknown>): AuditEvent {
    const { captureId, hostId, actor } = this.input;
    return auditEvent(kind, { kind, actor, hostId, detail: { captureId, ...detail } });
  }
}
