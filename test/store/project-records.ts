import type { ApprovalRecord } from '../../model/approvals/approval.ts';
import type { PoolRecord } from '../../model/pools/pool.ts';
import type { TemplateRecord } from '../../model/templates/template.ts';
import { newTemplate } from '../../model/templates/template-saga.ts';
import { INSTALLATION } from '../support/installation-id.ts';
import { sandboxId, snapshotId } from './support.ts';

const at = '2026-01-01T00:00:00.000Z';
const actor = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };

/** Returns the record of a new template. */
export function templateRecord(changes: Partial<TemplateRecord> = {}): TemplateRecord {
  const of = {
    hostId: 'kvm-1',
    installationId: INSTALLATION,
    templateKey: 'a'.repeat(64),
    cpus: null,
    memoryMib: null,
  };
  const ids = { templateId: snapshotId(1), builderId: sandboxId(2), probeIds: [sandboxId(3), sandboxId(4)] };
  return { ...newTemplate({ ...of, project: 'default', source: 'golden', actor }, ids, at), ...changes };
}

/** Returns the record of a filled pool. */
export function poolRecord(changes: Partial<PoolRecord> = {}): PoolRecord {
  return {
    project: 'default',
    name: 'web',
    source: 'golden',
    cpus: null,
    memoryMib: null,
    egress: 'none',
    min: 1,
    max: 1,
    revision: 1,
    state: 'ready',
    wanted: 1,
    reason: null,
    retryAt: null,
    claims: { hits: 0, misses: 0 },
    idle: { mibHours: 0, at },
    createdBy: actor,
    createdAt: at,
    updatedAt: at,
    ...changes,
  };
}

/** Returns the record of a command that awaits an approval. */
export function approvalRecord(changes: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    id: 'apr-0123456789abcdef',
    project: 'default',
    state: 'awaiting-approval',
    action: 'command.run',
    request: { command: 'ls' },
    digest: '0'.repeat(64),
    rules: ['all'],
    salt: '00',
    policyVersion: 1,
    role: 'approvals:decide',
    askedBy: actor,
    askedAt: at,
    expiresAt: '2999-01-01T00:00:00.000Z',
    decidedBy: null,
    decidedAt: null,
    reason: null,
    usedAt: null,
    usedFor: null,
    ...changes,
  };
}
