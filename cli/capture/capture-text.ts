import type { Capture } from '../../clients/typescript/http/openapi.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { recordLines } from '../terminal/columns.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { failureFields } from '../terminal/remedies.ts';

/** A capture as a person reads it; null fields are left out. */
export function captureLines(io: Io, capture: Capture): string[] {
  const { saved, failure } = capture;
  const fields: [string, string | null][] = [
    ['state', capture.state],
    ['of', capture.source],
    ['host', capture.hostId],
    ['moment', saved?.capturedAt ?? null],
    ['files', saved && (saved.quiesced ? 'frozen at that moment' : 'not frozen: as after a power cut')],
    ['takes', saved && `${size(saved.sizeBytes)} on the host`],
    ['copied', saved && (saved.parentId ? `what changed since ${saved.parentId}` : `all: ${saved.fullBecause}`)],
    ['waits for', capture.waitingFor],
    ...failureFields(failure),
  ];
  const digests = saved?.disks.map(({ target, sha256 }) => `  ${target.padEnd(10)}sha256 ${sha256}`) ?? [];
  return [...recordLines(io, capture.id, fields), ...digests.map(printable)];
}
