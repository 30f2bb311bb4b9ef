import { MayflyError } from '../../model/errors.ts';
import { type Attempt, getLastAttempt, type RunRecord } from '../../model/functions/run.ts';
import type { StartedAttempt } from '../../model/functions/run-saga.ts';
import { RUN_STATES } from '../../model/functions/run-state.ts';
import type { Store } from '../../store/connect.ts';

export type AttemptRef = Pick<StartedAttempt, 'runId' | 'n' | 'sandboxId' | 'commandId' | 'begunAt' | 'tries'>;

export const PENDING = {
  outcome: null,
  endedAt: null,
  exitCode: null,
  signal: null,
  failure: null,
  startedAt: null,
} as const;

/** @throws MayflyError run_not_found */
export async function requireRun({ runs }: Pick<Store, 'runs'>, runId: string): Promise<RunRecord> {
  const run = await runs.get(runId);
  if (run) return run;
  throw new MayflyError('run_not_found', `There is no run ${runId}.`);
}

export function withLast({ attempts }: Pick<RunRecord, 'attempts'>, changes: Partial<Attempt>): Attempt[] {
  return attempts.map((each, n) => (n === attempts.length - 1 ? { ...each, ...changes } : each));
}

/**
 * Returns a run with its workflow's attempt, which it restores in a store that was restored to an earlier time.
 * @returns null: no such run, or a later attempt exists
 */
export async function findAttempt(
  { runs }: Pick<Store, 'runs'>,
  ref: AttemptRef,
): Promise<{ run: RunRecord; attempt: Attempt } | null> {
  const run = await runs.get(ref.runId);
  if (!run) return null;
  const last = getLastAttempt(run);
  if (last?.sandboxId === ref.sandboxId) return { run, attempt: last };
  if (last?.commandId === ref.commandId) return restoreClaim(runs, run, { ...last, sandboxId: ref.sandboxId });
  const { tries } = ref;
  if (run.state === 'ended' || run.tries >= tries) return null;
  const { n, sandboxId, commandId, begunAt } = ref;
  const attempt: Attempt = { n, sandboxId, commandId, begunAt, cleanup: 'pending', secrets: [], ...PENDING };
  const attempts = [...run.attempts.filter((each) => each.n < n), attempt];
  await runs.restore(run, { attempts, tries });
  const restored = await runs.get(ref.runId);
  return restored && { run: restored, attempt };
}

/** Restores the pool member that the attempt was given and the store has lost. */
async function restoreClaim(runs: Store['runs'], run: RunRecord, attempt: Attempt) {
  const attempts = [...run.attempts.slice(0, -1), attempt];
  await runs.change(run.id, RUN_STATES, { attempts, member: attempt.sandboxId });
  return { run: { ...run, attempts }, attempt };
}
