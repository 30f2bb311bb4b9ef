import type { Approval, ProjectPolicy } from '../../client/approvals.ts';
import { decideLine } from '../terminal/approval-note.ts';

export const APPROVAL_HEADER = ['ID', 'STATE', 'ACTION', 'ASKED BY', 'EXPIRES', 'RULES', 'REQUEST'];

/** Of a request in one line of a list. */
const SHORT_REQUEST = 80;
/** All that is not seen as what it is: control and format characters, separators, halves of surrogate pairs. */
const UNSEEN = /[\p{C}\p{Z}]/gu;

/**
 * Text of a caller's as JSON in which nothing is hidden: whoever decides on it sees line ends, escape sequences, and
 * characters that turn or hide text as what they are.
 */
export function visible(value: unknown): string {
  const json = JSON.stringify(value) ?? 'null';
  return json.replace(UNSEEN, (char) => (char === ' ' ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  return Array.from({ length: char.length }, (_, n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, '0')}`).join(
    '',
  );
}

/** One line of a list. */
export function approvalRow({ id, state, action, askedBy, expiresAt, rules, request }: Approval): string[] {
  const by = visible(askedBy.agentId ?? askedBy.apiKeyId);
  return [id, state, action, by, expiresAt, rules.join(' '), requestText(request)];
}

/** The beginning of what is asked for. */
export function requestText(request: Approval['request']): string {
  const whole = visible(shown(request));
  return whole.length > SHORT_REQUEST ? `${whole.slice(0, SHORT_REQUEST)}…` : whole;
}

/** All that is decided on. */
export function approvalLines(approval: Approval): string[] {
  const { id, state, action, request, digest, rules, policyVersion, role, askedBy, askedAt, expiresAt } = approval;
  const { decidedBy, decidedAt, reason, usedFor, usedAt } = approval;
  const agent = askedBy.agentId === null ? '' : ` for the agent ${visible(askedBy.agentId)}`;
  return [
    `${id} is ${state}: ${action}`,
    ...Object.entries(shown(request)).map(([name, value]) => `  ${name}: ${visible(value)}`),
    `asked by ${askedBy.apiKeyId}${agent} at ${askedAt}; expires at ${expiresAt}`,
    `by ${rules.join(', ')} of policy ${policyVersion}; decided by ${role}`,
    ...(decidedBy ? [`${state === 'used' ? 'approved' : state} by ${decidedBy.apiKeyId} at ${decidedAt}`] : []),
    ...(reason === null ? [] : [`reason: ${visible(reason)}`]),
    ...(usedAt === null ? [] : [`used at ${usedAt} for ${usedFor}`]),
    `digest ${digest}`,
    ...(state === 'awaiting-approval' ? [`decide: ${decideLine('approve', approval)}  (or refuse)`] : []),
  ];
}

export function policyLines({ project, version, rules, isReadable, createdBy, createdAt }: ProjectPolicy): string[] {
  if (!isReadable) return [`policy ${version} of ${project} cannot be read, and denies; set it anew`];
  if (version === 0) return [`${project} has no policy: everything is let be done`];
  const head = `policy ${version} of ${project}, set by ${createdBy?.apiKeyId ?? '-'} at ${createdAt ?? '-'}`;
  return [
    head,
    ...rules.map(({ name, when, effect, role, expiresSeconds }) => {
      const asks = effect === 'ask' ? `, decided by ${role} within ${expiresSeconds} s` : '';
      return `  ${name}: ${effect} ${visible(when)}${asks}`;
    }),
  ];
}

/** Without what says nothing. */
function shown(request: Record<string, unknown>): Record<string, unknown> {
  const isSaid = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(request).filter(([, value]) => isSaid(value)));
}
