import { z } from 'zod';
import { MayflyError } from '../errors.ts';

/** Disk usage of a sandbox or a snapshot on a host. */
export interface StorageUsage {
  kind: 'workspace' | 'snapshot';
  /** Id of the sandbox or of the snapshot. */
  id: string;
  sandboxId: string;
  hostId: string | null;
  project: string;
  /** API key whose quota it counts in. */
  apiKeyId: string;
  bytes: number;
  /** ISO 8601; null: not measured yet, so `bytes` is an assumption. */
  measuredAt: string | null;
}

/** Storage quota. Null: no limit. */
export const storageQuota = z.object({
  diskBytes: z.number().nullable().describe('All sandboxes that a key made, and all snapshots that it took'),
  sandboxDiskBytes: z.number().nullable().describe('One sandbox that it made, with its snapshots'),
});
export type StorageQuota = z.infer<typeof storageQuota>;

export function isUnlimited({ diskBytes, sandboxDiskBytes }: StorageQuota): boolean {
  return diskBytes === null && sandboxDiskBytes === null;
}

/** File system on which a host stores its sandboxes. */
export interface HostDisk {
  totalBytes: number;
  availableBytes: number;
}

export const GIB = 1_073_741_824;

/** Assumed usage of an unmeasured sandbox: that of a small guest after its boot. */
export const UNMEASURED_BYTES = 64 * 1_048_576;

/**
 * Free space that a host reserves: 5 %, since fuller file systems get slow, but at most 2 GiB: twice the
 * amount that a 400 MB/s disk writes between two polls of the storage watch, plus a store's journal.
 */
const RESERVE = { share: 0.05, maxBytes: 2 * GIB };

export function getReserve({ totalBytes }: HostDisk): number {
  return Math.floor(Math.min(RESERVE.share * totalBytes, RESERVE.maxBytes));
}

/** True when suspended sandboxes may resume: twice the reserve is free, since less would suspend them again at once. */
export function hasSpaceToResume(disk: HostDisk): boolean {
  return disk.availableBytes >= 2 * getReserve(disk);
}

export function isFull(disk: HostDisk, neededBytes = 0): boolean {
  return disk.availableBytes - neededBytes < getReserve(disk);
}

/** @throws MayflyError host_disk_full */
export function assertSpace(disk: HostDisk, what: string, neededBytes = 0): void {
  if (isFull(disk, neededBytes))
    throw new MayflyError('host_disk_full', `${what} has no room: ${formatFreeSpace(disk)}.`);
}

/** Describes the free space for display. */
export function formatFreeSpace(disk: HostDisk): string {
  const { totalBytes, availableBytes } = disk;
  return `${formatSize(availableBytes)} of the host's disk of ${formatSize(totalBytes)} are free, and ${formatSize(getReserve(disk))} are kept free`;
}

export function sumBytes(parts: readonly StorageUsage[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Explains why a quota is or would be exceeded; null: it is not.
 * @param whose subject of the sentence
 * @param parts current usage
 * @param more additional bytes
 */
export function describeQuotaExcess(
  whose: string,
  quotaBytes: number | null,
  parts: readonly StorageUsage[],
  more = 0,
): string | null {
  const used = sumBytes(parts);
  if (quotaBytes === null || used + more <= quotaBytes) return null;
  const snapshots = parts.filter(({ kind }) => kind === 'snapshot');
  const [largest] = snapshots.toSorted((a, b) => b.bytes - a.bytes);
  const spent = `${formatSize(used)} (${formatSize(sumBytes(snapshots))} in ${snapshots.length} snapshots)`;
  const wish = more > 0 ? `, and this needs ${formatSize(more)} more` : '';
  const first = largest ? `, the largest of which is ${largest.id} with ${formatSize(largest.bytes)}` : '';
  return `${whose} may store ${formatSize(quotaBytes)} and stores ${spent}${wish}. Delete snapshots${first}, or sandboxes, or have the quota raised`;
}

/** Formats a size: `1.5 GiB`, `64.0 MiB`. */
export function formatSize(bytes: number): string {
  const [unit, name] = bytes >= GIB ? [GIB, 'GiB'] : [1_048_576, 'MiB'];
  return `${(bytes / unit).toFixed(1)} ${name}`;
}
