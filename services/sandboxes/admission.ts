import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { Counted, Size } from '../../model/project-limits.ts';
import type { Attempt } from '../idempotent-attempt.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { preemptMembers } from './preemption.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;

/** Members of pools that are given up are gone by then, or their host does not answer. Milliseconds. */
const GIVEN_UP_WITHIN_MS = 20_000;

/**
 * Has the quotas of the project count sandboxes, before anything of them is made. Members of its pools that nobody has claimed
 * are given up before it refuses.
 * @param attempt of the request, which a policy has looked at
 * @throws MayflyError project_quota_exceeded, quota_exceeded, policy_denied: none of them is counted
 */
export async function admit(
  deps: Deps,
  sandboxIds: readonly string[],
  size: Size,
  { countRule }: Pick<Attempt, 'countRule'> = {},
): Promise<void> {
  const { store, sagas } = deps;
  const wanted = sandboxIds.map((sandboxId) => ({ sandboxId, ...size }));
  for (let tooLate: AbortSignal | null = null; ; ) {
    try {
      return await store.admissions.admit(wanted, (id) => sagas.sandboxes.isOpen(id), countRule);
    } catch (error) {
      tooLate ??= AbortSignal.timeout(GIVEN_UP_WITHIN_MS);
      if (!(await isWorthAnotherTry(deps, error, wanted, tooLate))) throw error;
    }
  }
}

/** Whether members have given way. */
async function isWorthAnotherTry(
  deps: Deps,
  refusal: unknown,
  wanted: readonly Counted[],
  tooLate: AbortSignal,
): Promise<boolean> {
  if (!isMayflyError(refusal, 'project_quota_exceeded')) return false;
  try {
    return await preemptMembers(deps, wanted, tooLate);
  } catch (error) {
    if (tooLate.aborted || error instanceof MayflyError) return false; // it is refused for what it was refused for
    throw error;
  }
}

/**
 * Begins one that was admitted. Where it is certain that nothing of it begins, it does not count any more. With an
 * Idempotency-Key it goes on counting while Temporal is away: another request of that key may have been let begin by this
 * very count.
 */
export async function uncountedWhenRefused<T>(
  { store }: Deps,
  { claim }: Pick<Attempt, 'claim'>,
  sandboxId: string,
  begin: () => Promise<T>,
): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    if (isRefusal(error, claim === null)) await store.admissions.release([sandboxId]);
    throw error;
  }
}

function isRefusal(error: unknown, isAlone: boolean): boolean {
  if (!(error instanceof MayflyError)) return false;
  const { code, options } = error;
  return code === 'name_taken' || (code === 'temporal_unavailable' && isAlone && options.mayHaveBegun !== true);
}
