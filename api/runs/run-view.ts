import type { z } from '@hono/zod-openapi';
import type { RunRecord } from '../../model/functions/run.ts';
import type { RunWaiting } from '../../model/waitpoints/waiting.ts';
import { strip } from '../schema/strip.ts';
import { runAnswer } from './run-schemas.ts';

export function runView(run: RunRecord): z.infer<typeof runAnswer> {
  const { schedule = null, kept = null, diff = null, waiting = null } = run;
  return strip(runAnswer, { ...run, schedule, kept, diff, waiting: waiting && waitingView(waiting, run) });
}

function waitingView({ since, asleepAt, slot, failure }: RunWaiting, { state }: RunRecord) {
  return { since, hibernatedAt: state === 'ended' ? null : asleepAt, slot, failure };
}
