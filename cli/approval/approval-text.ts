import type { Approval, Policy } from '../../clients/typescript/http/openapi.ts';
import { toVisibleJson } from '../../model/approvals/visible-text.ts';
import { decideLine } from '../terminal/connection.ts';

export const APPROVAL_HEADER = ['ID', 'STATE', 'ACTION', 'ASKED BY', 'EXPIRES', 'RULES', 'REQUEST'];

/** Characters of a request in one line of a list. */
const SHORT_REQUEST = 80;
export function approvalRow({ id, state, action, askedBy, expiresAt, rules, request }: Approval): string[] {
  const by = toVisibleJson(askedBy.agentId ?? askedBy.apiKeyId);
  return [id, state, action, by, expiresAt, rules.join(' '), requestText(request)];
}

/** Returns the beginning of the request. */
export function requestText(request: Approval['request']): string {
  const whole = toVisibleJson(omitEmpty(request));
  return whole.length > SHORT_REQUEST ? `${whole.slice(0, SHORT_REQUEST)}…` : whole;
}

/** Lists everything that the decision covers. */
export function approvalLines(approval: Approval): string[] {
  const { id, state, action, request, digest, rules, policyVersion, role, askedBy, askedAt, expiresAt } = approval;
  const { decidedBy, decidedAt, reason, usedFor, usedAt } = approval;
  const agent = askedBy.agentId === null ? '' : ` for the agent ${toVisibleJson(askedBy.agentId)}`;
  return [
    `${id} is ${state}: ${action}`,
    ...Object.entries(omitEmpty(request)).map(([name, value]) => `  ${name}: ${toVisibleJson(value)}`),
    `asked by ${askedBy.apiKeyId}${agent} at ${askedAt}; expires at ${expiresAt}`,
    `by ${rules.join(', ')} of policy ${policyVersion}; decided by ${role}`,
    ...(decidedBy ? [`${state === 'used' ? 'approved' : state} by ${decidedBy.apiKeyId} at ${decidedAt}`] : []),
    ...(reason === null ? [] : [`reason: ${toVisibleJson(reason)}`]),
    ...(usedAt === null ? [] : [`used at ${usedAt} for ${usedFor}`]),
    `digest ${digest}`,
    ...(state === 'awaiting-approval' ? [`decide: ${decideLine('approve', approval)}  (or refuse)`] : []),
  ];
}

export function policyLines({ project, version, rules, isReadable, createdBy, createdAt }: Policy): string[] {
  if (!isReadable) return [`policy ${version} of ${project} cannot be read, and denies; set it anew`];
  if (version === 0) return [`${project} has no policy: everything is let be done`];
  const head = `policy ${version} of ${project}, set by ${createdBy?.apiKeyId ?? '-'} at ${createdAt ?? '-'}`;
  return [
    head,
    ...rules.map(({ name, when, effect, role, expiresSeconds }) => {
      const asks = effect === 'ask' ? `, decided by ${role} within ${expiresSeconds} s` : '';
      return `  ${name}: ${effect} ${toVisibleJson(when)}${asks}`;
    }),
  ];
}

/** Omits empty fields. */
function omitEmpty(request: Record<string, unknown>): Record<string, unknown> {
  const isSaid = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(request).filter(([, value]) => isSaid(value)));
}
