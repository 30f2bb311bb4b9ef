import type { HostRecord } from '../../model/host.ts';
import { INSTALLATION } from './installation-id.ts';

const AT = '2026-01-01T00:00:00.000Z';

/** Returns an empty host, as it describes itself. */
export function hostRecord(id: string, changes: Partial<HostRecord> = {}): HostRecord {
  return {
    id,
    installationId: INSTALLATION,
    hostUuid: null,
    epoch: 1,
    kind: 'simulated',
    isolation: 'none',
    capacity: { cpus: 1, memoryTotalMib: 1, memoryAvailableMib: 1, diskTotalBytes: 1, diskAvailableBytes: 1 },
    promised: { memoryMib: 0, diskBytes: 0, sandboxes: 0 },
    sources: [],
    startedAt: AT,
    lastSeenAt: AT,
    ...changes,
  };
}
