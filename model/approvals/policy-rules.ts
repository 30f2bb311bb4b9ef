import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import type { Scope } from '../scopes.ts';
import { isCommandPattern } from './command-pattern.ts';

const { approvals: limits, memoryMib, projectLimits } = LIMITS;
const { min, max, default: expires } = limits.expiresSeconds;
const expiresRange = `must be a whole number of seconds from ${min} to ${max}`;

/** Effects of a rule, weakest first; the strongest matching rule wins. */
const EFFECTS = ['allow', 'ask', 'deny'] as const;
export type Effect = (typeof EFFECTS)[number];

/** Scopes that a rule can require for a decision, from the most to the least commonly held. */
export const APPROVER_ROLES = ['approvals:decide', 'admin', 'operator'] as const satisfies readonly Scope[];
export type ApproverRole = (typeof APPROVER_ROLES)[number];

const pattern = z
  .string()
  .max(limits.patternLength)
  .refine(isCommandPattern, 'must be 1 to 8 words of printable ASCII, with single blanks between')
  .meta({ pattern: '^[!-~]+( [!-~]+){0,7}$', example: 'git push' });

const when = z
  .union([
    z.strictObject({ egress: z.literal('internet') }),
    z.strictObject({ memoryMibOver: z.int().min(0).max(memoryMib.max) }),
    z.strictObject({ sandboxesOver: z.int().min(0).max(projectLimits.max) }),
    z.strictObject({ source: z.enum(['capture', 'look']) }),
    z.strictObject({ elevation: z.literal(true) }),
    z.strictObject({ command: pattern }),
  ])
  .meta({ description: 'One thing about a request; docs/approvals.md says which requests each is about' });

export const policyRule = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,62})$/, 'must be 1 to 63 of a-z 0-9 -, the first no dash'),
    when,
    effect: z.enum(EFFECTS),
    role: z.enum(APPROVER_ROLES).default('approvals:decide'),
    expiresSeconds: z.int(expiresRange).min(min, expiresRange).max(max, expiresRange).default(expires),
  })
  .meta({ id: 'PolicyRule' });
export type PolicyRule = z.infer<typeof policyRule>;

/** Rules of a policy, in requests and answers. */
export const policyRules = z
  .array(policyRule)
  .max(limits.rules)
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, 'must have different names');
