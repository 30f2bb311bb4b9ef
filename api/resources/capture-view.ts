import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import type { RequestDeps } from '../http/context.ts';
import type { captureAnswer } from './capture-schemas.ts';
import { diskView } from './saved-disk.ts';

export type CaptureView = z.infer<typeof captureAnswer>;

/** A record as every route answers it, field by field. */
export function captureView(record: CaptureRecord): CaptureView {
  return {
    id: record.id,
    project: record.project,
    projects: record.projects,
    allowedEgress: record.allowedEgress,
    hostId: record.hostId,
    source: record.source,
    state: record.state,
    createdBy: record.createdBy,
    createdAt: record.createdAt,
    readyAt: record.readyAt,
    saved: record.saved && savedView(record.saved),
    failure: record.failure,
    waitingFor: record.waitingFor,
  };
}

function savedView({
  disks,
  sizeBytes,
  quiesced,
  capturedAt,
  parentId,
  fullBecause,
}: NonNullable<CaptureRecord['saved']>) {
  return { disks: disks.map(diskView), sizeBytes, quiesced, capturedAt, parentId, fullBecause };
}

/** @throws MayflyError capture_not_found */
export async function requireCapture({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<CaptureRecord> {
  const record = await store.captures.get(id);
  if (record) return record;
  throw new MayflyError('capture_not_found', `There is no capture ${id}.`);
}
