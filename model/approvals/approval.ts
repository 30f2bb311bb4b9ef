import type { Actor } from '../sandbox/sandbox.ts';
import { grants, type Scope } from '../scopes.ts';
import type { ApproverRole } from './policy-rules.ts';

/** `awaiting-approval` → `approved` → `used`; `refused`, `withdrawn` and `expired` end it too. */
export const APPROVAL_STATES = ['awaiting-approval', 'approved', 'used', 'refused', 'expired', 'withdrawn'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** What is asked for. */
export const APPROVAL_ACTIONS = [
  'sandbox.create',
  'command.run',
  'credential.issue',
  'capture.create',
  'source.command',
  'playbook.write',
] as const;
export type ApprovalAction = (typeof APPROVAL_ACTIONS)[number];

/** Someone asks that a request may be done, which a policy does not let be done without. */
export interface ApprovalRecord {
  id: string;
  /** Whose policy asks, and whose keys decide. */
  project: string;
  state: ApprovalState;
  action: ApprovalAction;
  /** The request with its defaults filled in, as it is shown: texts of callers, of any characters. */
  request: Record<string, unknown>;
  /** Of all that decides what is done, and of who asks; who decides names it. HMAC-SHA-256 by the salt, hex. */
  digest: string;
  /** Shown to nobody: what is not shown of a request could be guessed by its digest. Hex. */
  salt: string;
  /** Names of the rules that ask. */
  rules: string[];
  policyVersion: number;
  role: ApproverRole;
  askedBy: Actor;
  askedAt: string;
  /** Neither decided nor used from then on. */
  expiresAt: string;
  decidedBy: Actor | null;
  decidedAt: string | null;
  /** What who decided says of it. */
  reason: string | null;
  usedAt: string | null;
  /** The id of what the request that used it makes; a request comes to that once. */
  usedFor: string | null;
}

/** As the API shows it. */
export type ShownApproval = Omit<ApprovalRecord, 'salt'>;

/** As it is at a time: what nobody has used until it expires has expired, though nobody writes that down. */
export function approvalAt(record: ApprovalRecord, now: number): ApprovalRecord {
  const isOpen = record.state === 'awaiting-approval' || record.state === 'approved';
  return isOpen && Date.parse(record.expiresAt) <= now ? { ...record, state: 'expired' } : record;
}

interface Approver {
  id: string;
  project: string;
  scopes: readonly Scope[];
  createdAt: string;
}

/**
 * Why somebody may not decide; null: he may. Who asks does not, neither with the key, nor as the agent that is named, nor with
 * a key that was made since.
 */
export function whyNotDecider(
  approval: Pick<ApprovalRecord, 'project' | 'role' | 'askedBy' | 'askedAt'>,
  { id, project, scopes, createdAt }: Approver,
  agentId: string | null,
): string | null {
  const { askedBy, role, askedAt } = approval;
  if (!grants(scopes, role)) return `the API key ${id} lacks the scope \`${role}\``;
  if (project !== approval.project && !grants(scopes, 'operator')) return `the API key ${id} is of another project`;
  if (askedBy.apiKeyId === id) return 'who asks does not decide';
  if (agentId !== null && askedBy.agentId === agentId) return `the agent ${agentId} asks, and does not decide`;
  if (createdAt > askedAt) return `the API key ${id} was made after this was asked for`;
  return null;
}
