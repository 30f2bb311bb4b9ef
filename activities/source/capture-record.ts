import { MayflyError } from '../../model/errors.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import type { Store } from '../../store/connect.ts';

export interface CaptureChange {
  captureId: string;
  /** Source whose audit trail gets the event. */
  sourceId: string;
  changes: Partial<Omit<CaptureRecord, 'id' | 'hostId' | 'source'>>;
  /** Event; null: none. */
  event: AuditEvent | null;
}

/** Activities on the records of captures, for the workflows that take and delete them. */
export function createCaptureRecordActivities({ store }: { store: Store }) {
  return {
    /** Records a capture. Idempotent. */
    async recordCapture(input: { record: CaptureRecord; sourceId: string; event: AuditEvent }): Promise<CaptureRecord> {
      const record = await store.captures.create(input.record);
      await store.audit.record(input.sourceId, input.event);
      return record;
    },

    /** Changes the record and appends to the audit trail. Idempotent by the event's id. */
    async rememberCapture({ captureId, sourceId, changes, event }: CaptureChange): Promise<CaptureRecord> {
      const record = await store.captures.update(captureId, changes);
      if (event) await store.audit.record(sourceId, event);
      return record;
    },

    /** @throws MayflyError capture_not_found */
    async recallCapture({ captureId }: { captureId: string }): Promise<CaptureRecord> {
      return knownCapture(store, captureId);
    },
  };
}

/** @throws MayflyError capture_not_found, capture_not_ready */
export async function readyCapture(store: Pick<Store, 'captures'>, captureId: string): Promise<CaptureRecord> {
  const record = await knownCapture(store, captureId);
  if (record.state === 'ready') return record;
  throw new MayflyError('capture_not_ready', `The capture ${captureId} is ${record.state}.`);
}

/** @throws MayflyError capture_not_found */
async function knownCapture(store: Pick<Store, 'captures'>, captureId: string): Promise<CaptureRecord> {
  const record = await store.captures.get(captureId);
  if (!record) throw new MayflyError('capture_not_found', `There is no capture ${captureId}.`);
  return record;
}
