import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { whole } from '../../model/request-fields.ts';
import { WAIT_SLOTS, WAIT_TIMES } from '../../model/waitpoints/waiting.ts';
import { failure, instant } from '../http/schemas.ts';

const { hibernateAfterSeconds: hibernateAfter } = LIMITS.functions.waitpoints;

export const waitWish = z
  .strictObject({
    time: z.enum(WAIT_TIMES).default('counts').openapi({
      description: 'Whether the time of a process (`timeoutSeconds`) goes on while it waits for a waitpoint',
    }),
    hibernateAfterSeconds: whole(hibernateAfter, 'seconds').nullable().default(hibernateAfter.default).openapi({
      description: 'Its machine is hibernated when its process has waited for so long; null: it never is',
    }),
    releaseSlot: z.boolean().default(false).openapi({
      description:
        'Whether others may run in its place while its machine is hibernated; to go on it waits for a slot, in its place of the queue',
    }),
  })
  .refine(({ hibernateAfterSeconds, releaseSlot }) => hibernateAfterSeconds !== null || !releaseSlot, {
    path: ['releaseSlot'],
    message: 'means nothing where its machine is never hibernated',
  })
  .openapi({ description: 'What becomes of a run whose process waits for a waitpoint' });

export const waitAnswer = z.object({
  time: z.enum(WAIT_TIMES),
  hibernateAfterSeconds: z.int().nullable(),
  releaseSlot: z.boolean(),
});

/** How the process of a run waits. */
export const waitingAnswer = z
  .object({
    since: instant.nullable().openapi({ description: 'Since when its process waits; null: it does not now' }),
    hibernatedAt: instant.nullable().openapi({ description: 'Since when its machine is put to sleep; null: it runs' }),
    slot: z.enum(WAIT_SLOTS).openapi({
      description: '`released`: others may run in its place. `queued`: it has what it waited for, and waits for a slot',
    }),
    failure: failure.nullable().openapi({ description: 'Why its machine was not hibernated when that was tried last' }),
  })
  .nullable()
  .openapi({ description: 'How its process waits for waitpoints; null: it has not waited' });
