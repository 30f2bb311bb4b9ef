import { z } from 'zod';
import { MayflyError } from '../errors.ts';

/** What of a sandbox, or of what is kept of it, takes room on a host. */
export interface StoredPart {
  kind: 'workspace' | 'snapshot';
  /** Of the sandbox, or of the snapshot. */
  id: string;
  sandboxId: string;
  hostId: string | null;
  project: string;
  /** Whose quota it counts in: the key that asked for it. */
  apiKeyId: string;
  bytes: number;
  /** ISO 8601; null: not measured yet, `bytes` is what it is taken for until then. */
  measuredAt: string | null;
}

/** How much may be stored. Null: no limit. */
export const storageQuota = z.object({
  diskBytes: z.number().nullable().describe('All sandboxes that a key made, and all snapshots that it took'),
  sandboxDiskBytes: z.number().nullable().describe('One sandbox that it made, with its snapshots'),
});
export type StorageQuota = z.infer<typeof storageQuota>;

export function isUnlimited({ diskBytes, sandboxDiskBytes }: StorageQuota): boolean {
  return diskBytes === null && sandboxDiskBytes === null;
}

/** The file system on which a host keeps its sandboxes. */
export interface HostDisk {
  totalBytes: number;
  availableBytes: number;
}

export const GIB = 1_073_741_824;

/** What a sandbox counts as until its host has measured it: what a small guest has written when it has booted. */
export const UNMEASURED_BYTES = 64 * 1_048_576;

/**
 * What of a host's disk its sandboxes leave free: a twentieth, since a file system that is fuller gets slow, but no more
 * than 2 GiB: what a disk of 400 MB/s writes between two looks of the watch, twice, and a store's journal.
 */
const RESERVE = { share: 0.05, maxBytes: 2 * GIB };

export function reserveOf({ totalBytes }: HostDisk): number {
  return Math.floor(Math.min(RESERVE.share * totalBytes, RESERVE.maxBytes));
}

/** What must be free until those who wait for room go on: twice the reserve, or they would stop again at once. */
export function hasRoomAgain(disk: HostDisk): boolean {
  return disk.availableBytes >= 2 * reserveOf(disk);
}

export function isFull(disk: HostDisk, neededBytes = 0): boolean {
  return disk.availableBytes - neededBytes < reserveOf(disk);
}

/** @throws MayflyError host_disk_full */
export function refuseFull(disk: HostDisk, what: string, neededBytes = 0): void {
  if (isFull(disk, neededBytes)) throw new MayflyError('host_disk_full', `${what} has no room: ${fullness(disk)}.`);
}

/** In words for a person. */
export function fullness(disk: HostDisk): string {
  const { totalBytes, availableBytes } = disk;
  return `${sizeText(availableBytes)} of the host's disk of ${sizeText(totalBytes)} are free, and ${sizeText(reserveOf(disk))} are kept free`;
}

export function sumOf(parts: readonly StoredPart[]): number {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Why a quota does not allow what is stored, or would be; null when it does.
 * @param whose subject of a sentence
 * @param parts what counts in it now
 * @param more bytes that would come to it
 */
export function excessOf(
  whose: string,
  quotaBytes: number | null,
  parts: readonly StoredPart[],
  more = 0,
): string | null {
  const used = sumOf(parts);
  if (quotaBytes === null || used + more <= quotaBytes) return null;
  const snapshots = parts.filter(({ kind }) => kind === 'snapshot');
  const [largest] = snapshots.toSorted((a, b) => b.bytes - a.bytes);
  const spent = `${sizeText(used)} (${sizeText(sumOf(snapshots))} in ${snapshots.length} snapshots)`;
  const wish = more > 0 ? `, and this needs ${sizeText(more)} more` : '';
  const first = largest ? `, the largest of which is ${largest.id} with ${sizeText(largest.bytes)}` : '';
  return `${whose} may store ${sizeText(quotaBytes)} and stores ${spent}${wish}. Delete snapshots${first}, or sandboxes, or have the quota raised`;
}

/** As people say it: `1.5 GiB`, `64.0 MiB`. */
export function sizeText(bytes: number): string {
  const [unit, name] = bytes >= GIB ? [GIB, 'GiB'] : [1_048_576, 'MiB'];
  return `${(bytes / unit).toFixed(1)} ${name}`;
}
