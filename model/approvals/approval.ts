import { z } from 'zod';
import { actor, displayText, encryptedField, instant } from '../fields.ts';
import { grants, type Scope } from '../scopes.ts';
import { APPROVER_ROLES } from './policy-rules.ts';

/**
 * Approval that a policy requires for a request. State machine:
 *
 * `awaiting-approval` → `approved` → `used`; `refused`, `withdrawn` and `expired` end it too.
 */
export const approvalRecord = z.object({
  id: z.string(),
  project: z.string().describe('Whose policy asks, and whose keys decide'),
  state: z.enum(['awaiting-approval', 'approved', 'used', 'refused', 'expired', 'withdrawn']),
  action: z.enum([
    'sandbox.create',
    'command.run',
    'credential.issue',
    'capture.create',
    'source.command',
    'playbook.write',
  ]),
  request: encryptedField(z.record(z.string(), z.unknown())).describe(
    'With its defaults filled in. Texts of callers, of any characters: escape them',
  ),
  digest: z
    .string()
    .describe('Of all that decides what is done, and of who asks; who decides names it. HMAC-SHA-256 by a salt, hex'),
  salt: z.string().describe('Shown to nobody: what is not shown of a request could be guessed by its digest. Hex'),
  rules: encryptedField(z.array(z.string())).describe('Names of the rules that ask'),
  policyVersion: z.int(),
  role: z.enum(APPROVER_ROLES),
  askedBy: actor,
  askedAt: instant,
  expiresAt: instant.describe('Neither decided nor used from then on'),
  decidedBy: actor.nullable(),
  decidedAt: instant.nullable(),
  reason: displayText().nullable().describe('What who decided says of it'),
  usedAt: instant.nullable(),
  usedFor: z
    .string()
    .nullable()
    .describe('The id of what the request that used it makes; a request comes to that once'),
});
export type ApprovalRecord = z.infer<typeof approvalRecord>;

/**
 * Returns the approval as of a time: an unused one counts as expired after `expiresAt`, though its record is not
 * updated.
 */
export function getApprovalAsOf(record: ApprovalRecord, now: number): ApprovalRecord {
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
 * Returns why a principal may not decide; null when it may. The requester may not, whether by the same key, as the
 * named agent, or by a key made after the request.
 */
export function getDecisionRefusal(
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
