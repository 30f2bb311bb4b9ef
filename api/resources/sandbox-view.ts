import type { z } from '@hono/zod-openapi';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { sandboxAnswer } from './sandbox-schemas.ts';

export type SandboxView = z.infer<typeof sandboxAnswer>;

/**
 * A record as every route answers it. Field by field: what is later added to records, such as a path on a host, does
 * not leak out by itself.
 */
export function sandboxView(record: SandboxRecord): SandboxView {
  const {
    source,
    snapshotId,
    cpus,
    memoryMib,
    ttlSeconds,
    idleSeconds,
    onIdle = 'destroy',
    autoResume,
    metadata,
    agentId,
    network,
  } = record.spec;
  const { captureId = null, boot = 'auto' } = record.spec;
  return {
    id: record.id,
    project: record.project,
    name: record.name,
    state: record.state,
    phase: record.phase,
    spec: {
      source,
      snapshotId,
      captureId,
      // What the source has, where nothing was asked for.
      cpus: cpus ?? record.size?.cpus ?? null,
      memoryMib: memoryMib ?? record.size?.memoryMib ?? null,
      ttlSeconds,
      idleSeconds,
      onIdle,
      autoResume,
      metadata,
      agentId,
      network: { egress: network.egress },
      boot,
    },
    createdBy: record.createdBy,
    hostId: record.hostId,
    boot: record.boot ?? null,
    parentSnapshotId: record.parentSnapshotId,
    ssh: record.ssh,
    macAddress: record.macAddress,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    runningAt: record.runningAt,
    expiresAt: record.expiresAt,
    stopReason: record.stopReason,
    failure: record.failure,
    stalledBy: record.stalledBy,
    waitingFor: record.waitingFor,
    auditFault: record.auditFault ?? null,
    proof: record.proof,
    steps: record.steps,
  };
}
