import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';

export const ID = 'sbx-0123456789abcdef';

/** A sandbox as the API answers it; `changes` make it what a test needs. */
export function sandboxRecord(changes: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id: ID,
    project: 'default',
    name: null,
    state: 'running',
    phase: null,
    spec: {
      source: 'golden-debian12',
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      ttlSeconds: 3_600,
      idleSeconds: null,
      autoResume: false,
      metadata: {},
      agentId: null,
      network: { egress: 'none' },
    },
    createdBy: { apiKeyId: '0123456789ab', agentId: null },
    hostId: 'host',
    parentSnapshotId: null,
    ssh: { address: '127.64.0.2', port: 2222, user: 'sandbox', hostKey: 'ssh-ed25519 AAAA' },
    macAddress: '52:54:00:00:00:01',
    createdAt: '2026-11-21T10:00:00.000Z',
    updatedAt: '2026-11-21T10:00:01.000Z',
    runningAt: '2026-11-21T10:00:01.000Z',
    expiresAt: '2026-11-21T11:00:00.000Z',
    stopReason: null,
    failure: null,
    stalledBy: null,
    waitingFor: null,
    proof: null,
    steps: [{ step: 'cloneDisk', startedAt: '2026-11-21T10:00:00.000Z', endedAt: '2026-11-21T10:00:00.120Z' }],
    ...changes,
  };
}
