import { MayflyError } from '../../model/errors.ts';
import type { Size } from '../../model/project-limits.ts';
import type { RequestDeps } from '../http/context.ts';
import type { Attempt } from '../http/idempotency.ts';

type Deps = Pick<RequestDeps, 'store' | 'sagas'>;

/**
 * Has the quotas of the project count sandboxes, before anything of them is made.
 * @throws MayflyError project_quota_exceeded, quota_exceeded: none of them is counted
 */
export function admit({ store, sagas }: Deps, sandboxIds: readonly string[], size: Size): Promise<void> {
  const wanted = sandboxIds.map((sandboxId) => ({ sandboxId, ...size }));
  return store.admissions.admit(wanted, (id) => sagas.isOpen(id));
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
