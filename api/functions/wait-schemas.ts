import { runWaiting } from '../../model/waitpoints/waiting.ts';

/** How the process of a run waits. */
export const waitingAnswer = runWaiting
  .pick({ since: true, slot: true, failure: true })
  .extend({ hibernatedAt: runWaiting.shape.asleepAt })
  .nullable()
  .openapi({ description: 'How its process waits for waitpoints; null: it has not waited' });
