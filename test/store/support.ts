import type { ImageRecord } from '../../model/image/image.ts';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { CertificateRecord } from '../../model/sandbox/certificate.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import { newCapture } from '../../model/snapshots/capture-saga.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { INSTALLATION } from '../support/installation-id.ts';

/** Returns a sandbox id that ends in this number. */
export function sandboxId(n: number): string {
  return `sbx-${String(n).padStart(16, '0')}`;
}

/** Returns the record of a new request. */
export function record(n: number, changes: Partial<SandboxRecord> = {}): SandboxRecord {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + n).toISOString();
  return {
    id: sandboxId(n),
    project: 'default',
    name: null,
    state: 'requested',
    phase: null,
    spec: {
      source: 'golden',
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      ttlSeconds: 3_600,
      idleSeconds: null,
      autoResume: false,
      captureId: null,
      metadata: {},
      agentId: null,
      network: { egress: 'none' },
    },
    createdBy: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    hostId: null,
    installationId: changes.hostId ? INSTALLATION : null,
    askedHosts: [],
    parentSnapshotId: null,
    ssh: null,
    macAddress: null,
    createdAt,
    updatedAt: createdAt,
    runningAt: null,
    expiresAt: createdAt,
    stopReason: null,
    failure: null,
    stalledBy: null,
    waitingFor: null,
    proof: null,
    steps: [],
    ...changes,
  };
}

/** Returns a command id that ends in this number. */
export function commandId(n: number): string {
  return `cmd-${String(n).padStart(16, '0')}`;
}

/** Returns the record of a new command in sandbox 1. */
export function command(n: number, changes: Partial<CommandRecord> = {}): CommandRecord {
  return {
    id: commandId(n),
    sandboxId: sandboxId(1),
    hostId: 'kvm-1',
    installationId: INSTALLATION,
    spec: {
      command: 'true',
      argv: null,
      envNames: [],
      cwd: null,
      user: null,
      timeoutSeconds: 600,
      maxOutputBytes: 10_485_760,
      stdinOpen: false,
    },
    createdBy: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    state: 'requested',
    requestedAt: new Date(Date.UTC(2026, 0, 1) + n).toISOString(),
    startedAt: null,
    endedAt: null,
    outcome: null,
    exitCode: null,
    signal: null,
    reason: null,
    failure: null,
    stdout: { bytes: 0, kept: 0 },
    stderr: { bytes: 0, kept: 0 },
    ...changes,
  };
}

/** Returns a snapshot id that ends in this number. */
export function snapshotId(n: number): string {
  return `snp-${String(n).padStart(16, '0')}`;
}

/** Returns the record of a new snapshot of sandbox 1. */
export function snapshot(n: number, changes: Partial<SnapshotRecord> = {}): SnapshotRecord {
  return {
    id: snapshotId(n),
    project: 'default',
    sandboxId: sandboxId(1),
    hostId: 'kvm-1',
    installationId: INSTALLATION,
    source: 'golden',
    name: snapshotId(n),
    kind: 'disk',
    state: 'creating',
    reason: 'requested',
    parentId: null,
    network: { egress: 'none' },
    createdBy: { apiKeyId: '0123456789ab', agentId: null, project: 'default' },
    createdAt: new Date(Date.UTC(2026, 0, 1) + n).toISOString(),
    readyAt: null,
    saved: null,
    failure: null,
    keptFor: null,
    ...changes,
  };
}

const at = '2026-01-01T00:00:00.000Z';
const actor = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };

/** Returns the record of a queued build, in the second sandbox. */
export function imageRecord(changes: Partial<ImageRecord> = {}): ImageRecord {
  return {
    id: 'img-0000000000000001',
    project: 'default',
    name: 'web',
    state: 'queued',
    request: {
      dockerfile: 'FROM golden',
      args: {},
      target: null,
      aliases: {},
      network: { egress: 'none' },
      context: null,
    },
    source: 'golden',
    content: 'c',
    builderId: sandboxId(2),
    steps: 1,
    cached: 0,
    done: 0,
    snapshotId: null,
    failure: null,
    waitingFor: null,
    createdBy: actor,
    createdAt: at,
    readyAt: null,
    updatedAt: at,
    ...changes,
  };
}

/** Returns the record of a playbook of the first sandbox that is tried in the second. */
export function playbookRecord(changes: Partial<PlaybookRecord> = {}): PlaybookRecord {
  return {
    id: 'pbk-0123456789abcdef',
    project: 'default',
    sandboxId: sandboxId(1),
    state: 'checking',
    base: { source: 'golden-debian12', snapshotId: null },
    checkerId: sandboxId(2),
    written: null,
    check: null,
    unchecked: null,
    failure: null,
    waitingFor: null,
    createdBy: actor,
    createdAt: at,
    endedAt: null,
    updatedAt: at,
    ...changes,
  };
}

/** Returns the record of a new capture of the source `golden`. */
export function captureRecord(): CaptureRecord {
  const ids = { captureId: 'cap-0000000000000001', sourceId: 'src-0000000000000001', hostId: 'kvm-1' };
  const whose = { actor, projects: ['default'], allowedEgress: 'none' as const };
  return newCapture({ task: 'create', ...ids, ...whose, installationId: INSTALLATION, source: 'golden', at });
}

export function certificateRecord(serial: string, changes: Partial<CertificateRecord> = {}): CertificateRecord {
  return {
    serial,
    sandboxId: sandboxId(1),
    keyId: `agent=- key=k source=s sandbox=${sandboxId(1)} certificate=${serial}`,
    actor,
    purpose: 'caller',
    fingerprint: 'SHA256:x',
    signedBy: 'SHA256:y',
    validAfter: '2026-01-01T00:00:00Z',
    validBefore: '2026-01-01T01:00:00Z',
    revokedAt: null,
    revokedBy: null,
    refusedAt: null,
    ...changes,
  };
}

export function auditEvent(changes: Partial<AuditEvent> = {}): AuditEvent {
  const kind = 'sandbox.requested';
  return { eventId: 'e1', kind, actor: null, runId: null, hostId: null, at, detail: {}, ...changes };
}
