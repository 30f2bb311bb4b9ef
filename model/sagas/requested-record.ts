import type { SandboxRecord } from '../sandbox/sandbox.ts';
import type { SandboxInput } from './messages.ts';

/** The first record of a sandbox: what was asked for, and which host is asked first. */
export function requestedRecord(input: SandboxInput): SandboxRecord {
  const { id, name = null, spec, createdBy, requestedAt, hostIds = [] } = input;
  return {
    id,
    name,
    state: 'requested',
    phase: null,
    spec,
    createdBy,
    hostId: hostIds[0] ?? null, // written before the host is touched: a cleanup must find it
    parentSnapshotId: spec.snapshotId ?? null, // requests from before there were snapshots have none
    ssh: null,
    macAddress: null,
    createdAt: requestedAt,
    updatedAt: requestedAt,
    runningAt: null,
    expiresAt: new Date(Date.parse(requestedAt) + spec.ttlSeconds * 1000).toISOString(),
    stopReason: null,
    failure: null,
    stalledBy: null,
    waitingFor: null,
    proof: null,
    steps: [],
  };
}
