import type { CaptureRemembrance } from '../../activities/source/capture-record.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import { type CaptureCreation, type CaptureInput, newCapture } from '../../model/snapshots/capture-saga.ts';
import { controlUntilDone } from '../saga/control.ts';
import { RecordedTask } from '../source/task-life.ts';

const { recordCapture, rememberCapture, recallCapture } = controlUntilDone;

/** One task on the captures of a source. */
export class CaptureLife extends RecordedTask<CaptureRemembrance['changes'], CaptureRecord> {
  constructor(readonly input: CaptureInput) {
    const { captureId, actor, hostId } = input;
    super({ actor, hostId, detail: { captureId } }, input.timeouts);
  }

  /** Writes the record of a capture that begins. @returns it; of one that was begun before, as it is */
  begin(creation: CaptureCreation): Promise<CaptureRecord> {
    const { sourceId } = creation;
    const event = this.event({ kind: 'capture.requested', detail: {} });
    return recordCapture({ record: newCapture(creation), sourceId, event });
  }

  /** @throws ApplicationFailure capture_not_found */
  recall(): Promise<CaptureRecord> {
    return recallCapture({ captureId: this.input.captureId });
  }

  protected override write(
    { updatedAt: _at, ...changes }: CaptureRemembrance['changes'] & { updatedAt: string },
    event: AuditEvent | null,
  ): Promise<CaptureRecord> {
    const { captureId, sourceId } = this.input;
    return rememberCapture({ captureId, sourceId, changes, event });
  }
}
