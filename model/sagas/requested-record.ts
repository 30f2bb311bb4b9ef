import type { SandboxRecord } from '../sandbox/sandbox.ts';
import type { SandboxInput } from './messages.ts';

/** Builds the first record of a sandbox, with the first candidate host. */
export function newSandboxRecord(input: SandboxInput): SandboxRecord {
  const { id, name = null, spec, createdBy, requestedAt, hosts, size, builds, pool } = input;
  const [host] = hosts;
  return {
    id,
    project: createdBy.project,
    name,
    state: 'requested',
    phase: null,
    spec,
    createdBy,
    ...(size && { size }),
    ...(builds && { builds }),
    ...(pool && { pool }),
    hostId: host?.hostId ?? null, // recorded before the host is used, so that a cleanup finds it
    installationId: host?.installationId ?? null,
    askedHosts: host ? [host] : [],
    parentSnapshotId: spec.snapshotId,
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
