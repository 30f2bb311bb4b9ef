import { z } from 'zod';
import { actor, displayText, egress, instant, optional } from '../fields.ts';

/** Counts creates that could have used a member. */
const poolClaims = z
  .object({ hits: z.int(), misses: z.int() })
  .describe('Creates that had a member, and those that found none');
export type PoolClaims = z.infer<typeof poolClaims>;

/** Written only by activities of its own workflow. */
export const poolRecord = z.object({
  project: z.string().describe('`-`: of none, all share it'),
  name: z.string(),
  source: z.string(),
  cpus: z.int().nullable().describe('Null: as many as the source has'),
  memoryMib: z.int().nullable().describe('Null: as the source has'),
  egress,
  min: z.int().describe('Members that are kept whether or not any is claimed'),
  max: z.int(),
  revision: z.int().describe('Raised by each change of what its members are: older ones are claimed no more'),
  state: z
    .enum(['filling', 'ready', 'degraded', 'deleting', 'deleted'])
    .describe(
      '`filling`: it has fewer members than it wants. `degraded`: three in a row could not be made, or were evicted; `reason` says why',
    ),
  wanted: z.int().describe('Members that it wants to have now'),
  refills: optional(z.int()).describe('How often it has been filled. Default: 0'),
  reason: displayText().nullable().describe('Why the last one could not be made; null: it could'),
  retryAt: instant.nullable().describe('When it tries again, while it is degraded'),
  claims: poolClaims,
  idle: z
    .object({ mibHours: z.number(), at: instant.describe('Up to when it is counted') })
    .describe('Memory that unclaimed members held since there is the pool'),
  createdBy: actor.describe("Who set it last: its members are that key's until they are claimed"),
  createdAt: instant,
  updatedAt: instant,
});
export type PoolRecord = z.infer<typeof poolRecord>;
/** Specification of a pool's members. */
export type PoolSpec = Pick<PoolRecord, 'source' | 'cpus' | 'memoryMib' | 'egress' | 'min' | 'max'>;

/** Returns a project's share of a shared pool until its next refill: half of it, which leaves members for others. */
export function getShare(pool: PoolRecord, project: string) {
  return { pool, project, refill: pool.refills ?? 0, most: Math.max(1, Math.floor(pool.wanted / 2)) };
}
