import type { BakedSource } from '../../clients/typescript/http/openapi.ts';
import { size } from '../snapshot/snapshot-text.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** What a source was made of, and what it takes; null fields are left out. */
export function bakedLines(io: Io, baked: BakedSource): string[] {
  const { name, hostId, state, snapshotId, sandboxId, createdBy, createdAt, image, failure, waitingFor } = baked;
  const shown = [
    `  baked of ${snapshotId}, a snapshot of ${sandboxId}`,
    `  by ${createdBy.apiKeyId} at ${createdAt}`,
    ...(image ? [`  takes ${size(image.sizeBytes)} on the host`] : []),
    ...(image?.disks ?? []).map(({ target, sha256 }) => `  ${target} sha256 ${sha256}`),
    ...(failure ? [`  last failure: ${failure.step}: ${failure.message}`] : []),
    ...(waitingFor ? [`  waiting for ${waitingFor}`] : []),
  ];
  return [`${io.paint('bold', printable(name))} on ${printable(hostId)}: ${state}`, ...shown.map(printable)];
}
