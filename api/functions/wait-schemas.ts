import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { whole } from '../../model/request-fields.ts';
import { runWaiting, waitSpec } from '../../model/waitpoints/waiting.ts';

const { hibernateAfterSeconds: hibernateAfter } = LIMITS.functions.waitpoints;

export const waitWish = z
  .strictObject({
    time: waitSpec.shape.time.default('counts'),
    hibernateAfterSeconds: whole(hibernateAfter, 'seconds').nullable().default(hibernateAfter.default).openapi({
      description: 'Its machine is hibernated when its process has waited for so long; null: it never is',
    }),
    releaseSlot: waitSpec.shape.releaseSlot.default(false),
  })
  .refine(({ hibernateAfterSeconds, releaseSlot }) => hibernateAfterSeconds !== null || !releaseSlot, {
    path: ['releaseSlot'],
    message: 'means nothing where its machine is never hibernated',
  })
  .openapi({ description: 'What becomes of a run whose process waits for a waitpoint' });

/** How the process of a run waits. */
export const waitingAnswer = runWaiting
  .pick({ since: true, slot: true, failure: true })
  .extend({ hibernatedAt: runWaiting.shape.asleepAt })
  .nullable()
  .openapi({ description: 'How its process waits for waitpoints; null: it has not waited' });
