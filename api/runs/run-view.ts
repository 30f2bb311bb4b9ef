import type { z } from '@hono/zod-openapi';
import { MayflyError } from '../../model/errors.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { RequestDeps } from '../http/context.ts';
import type { runAnswer } from './run-schemas.ts';

export function runView(run: RunRecord): z.infer<typeof runAnswer> {
  const {
    versionDigest: _version,
    eventDigest: _event,
    keys: _keys,
    throttleKey: _throttle,
    lane: _lane,
    lateBinding: _binding,
    gathering: _gathering,
    gatheringKey: _gatheringKey,
    dedupe: _dedupe,
    dedupeUntil: _until,
    epoch: _epoch,
    tries: _tries,
    member: _member,
    members: _members,
    failedStarts: _failed,
    seq: _seq,
    retentionDays: _days,
    schedule = null,
    kept = null,
    diff = null,
    ...shown
  } = run;
  return { ...shown, kept, diff, schedule: schedule && { name: schedule.name, nominalAt: schedule.nominalAt } };
}

/** @throws MayflyError run_not_found */
export async function requireRun({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<RunRecord> {
  const run = await store.runs.get(id);
  if (run) return run;
  throw new MayflyError('run_not_found', `There is no run ${id}.`);
}
