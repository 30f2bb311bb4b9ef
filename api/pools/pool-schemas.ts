import { z } from '@hono/zod-openapi';
import { egress } from '../../model/fields.ts';
import { LIMITS } from '../../model/limits.ts';
import { type PoolRecord, poolRecord } from '../../model/pools/pool.ts';
import { isShared } from '../../model/pools/pool-saga.ts';
import { sourceName, whole } from '../../model/request-fields.ts';
import { idleMibHoursOf } from '../../services/pools/idle-hours.ts';
import type { StoredMember } from '../../store/sandboxes/pool-members.ts';
import { instant } from '../http/schemas.ts';
import { strip } from '../schema/strip.ts';

const NAME = /^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export const poolParams = z.strictObject({
  name: z
    .string()
    .regex(NAME, 'must be 1 to 63 of a-z, 0-9 and -, begin with a letter and not end with -')
    .openapi({ pattern: NAME.source, example: 'web' }),
});

export const poolQuery = z.strictObject({
  project: z.string().max(63).optional().openapi({
    description:
      'Of that project; only operators see those of others. `-`: one that all projects share. Else of the key that asks',
  }),
});

export const setPool = z
  .strictObject({
    source: sourceName,
    cpus: whole(LIMITS.cpus, 'virtual CPUs').optional(),
    memoryMib: whole(LIMITS.memoryMib, 'MiB').optional(),
    egress: egress.optional(),
    min: whole(LIMITS.poolMembers, 'sandboxes'),
    max: whole(LIMITS.poolMembers, 'sandboxes'),
    shared: z.boolean().optional().openapi({
      description:
        "For all projects: operators may. Its members are no project's until one claims them. Default: false",
    }),
  })
  .refine(({ min, max }) => min <= max, { message: 'must not be less than min', path: ['max'] })
  .openapi('SetPool');

export const poolAnswer = poolRecord
  .omit({ revision: true, refills: true, idle: true })
  .extend({
    shared: z.boolean(),
    members: z.array(
      z.object({
        sandboxId: z.string(),
        state: z.string(),
        hostId: z.string().nullable(),
        warmAt: instant.nullable(),
      }),
    ),
    idleMibHours: z.number().openapi({
      description:
        'Memory that its members held while they were ready and nobody had claimed them, since there is the pool',
    }),
  })
  .openapi('Pool');

export function poolView(pool: PoolRecord, members: readonly StoredMember[]): z.infer<typeof poolAnswer> {
  return strip(poolAnswer, {
    ...pool,
    shared: isShared(pool),
    members: members.map((member) => ({ ...member, sandboxId: member.id, warmAt: member.pool?.warmAt ?? null })),
    idleMibHours: Math.round(idleMibHoursOf(pool, members) * 1_000) / 1_000,
  });
}
