import { DEFAULT_PROJECT } from '../project.ts';
import type { SandboxRecord } from '../sandbox/sandbox.ts';
import type { SandboxInput } from './messages.ts';

/** The first record of a sandbox: what was asked for, and which host is asked first. */
export function requestedRecord(input: SandboxInput): SandboxRecord {
  const { id, name = null, spec, createdBy, requestedAt, hostIds = [], installations = {}, size, builds, pool } = input;
  const [hostId = null] = hostIds;
  const installationId = hostId === null ? null : (installations[hostId] ?? null);
  return {
    id,
    project: createdBy.project ?? DEFAULT_PROJECT,
    name,
    state: 'requested',
    phase: null,
    spec,
    createdBy,
    ...(size && { size }),
    ...(builds && { builds }),
    ...(pool && { pool }),
    hostId, // written before the host is touched: a cleanup must find it
    installationId,
    askedHosts: hostId === null ? [] : [{ hostId, installationId }],
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
