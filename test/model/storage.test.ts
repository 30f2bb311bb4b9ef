import { expect, test } from 'vitest';
import {
  assertSpace,
  describeQuotaExcess,
  formatSize,
  getReserve,
  hasSpaceToResume,
  isFull,
  type StorageUsage,
} from '../../model/snapshots/storage.ts';

const MIB = 1_048_576;
const GIB = 1_024 * MIB;

test.each([
  [1 * GIB, 0.05 * GIB],
  [40 * GIB, 2 * GIB],
  [10_000 * GIB, 2 * GIB],
])('of %d bytes, %d are kept in reserve', (totalBytes, reserve) => {
  expect(getReserve({ totalBytes, availableBytes: 0 })).toBe(Math.floor(reserve));
});

test('a disk is full below its reserve, and has space again at twice that', () => {
  const disk = (availableBytes: number) => ({ totalBytes: 100 * GIB, availableBytes });
  expect(isFull(disk(2 * GIB))).toBe(false);
  expect(isFull(disk(2 * GIB - 1))).toBe(true);
  expect(isFull(disk(3 * GIB), GIB + 1)).toBe(true);
  expect(hasSpaceToResume(disk(4 * GIB - 1))).toBe(false);
  expect(hasSpaceToResume(disk(4 * GIB))).toBe(true);
  expect(() => assertSpace(disk(GIB), 'sbx-1')).toThrow(
    "sbx-1 has no room: 1.0 GiB of the host's disk of 100.0 GiB are free, and 2.0 GiB are kept free.",
  );
});

test('an excess reports the usage, and the largest parts to delete', () => {
  const part = (kind: StorageUsage['kind'], id: string, bytes: number): StorageUsage => {
    return { kind, id, project: 'default', sandboxId: 'sbx-1', hostId: 'h', apiKeyId: 'k', bytes, measuredAt: null };
  };
  const parts = [part('workspace', 'sbx-1', GIB), part('snapshot', 'snp-1', GIB), part('snapshot', 'snp-2', 2 * GIB)];
  expect(describeQuotaExcess('sbx-1', null, parts, 9 * GIB)).toBeNull();
  expect(describeQuotaExcess('sbx-1', 4 * GIB, parts)).toBeNull();
  expect(describeQuotaExcess('sbx-1', 4 * GIB, parts, 1)).toBe(
    'sbx-1 may store 4.0 GiB and stores 4.0 GiB (3.0 GiB in 2 snapshots), and this needs 0.0 MiB more. ' +
      'Delete snapshots, the largest of which is snp-2 with 2.0 GiB, or sandboxes, or have the quota raised',
  );
  expect(describeQuotaExcess('sbx-1', MIB, parts.slice(0, 1))).toBe(
    'sbx-1 may store 1.0 MiB and stores 1.0 GiB (0.0 MiB in 0 snapshots). Delete snapshots, or sandboxes, or have the quota raised',
  );
});

test('sizes are human-readable', () => {
  expect([0, 64 * MIB, 1.5 * GIB].map(formatSize)).toEqual(['0.0 MiB', '64.0 MiB', '1.5 GiB']);
});
