import { MayflyError } from '../../model/errors.ts';
import type { Size } from '../../model/project-limits.ts';
import type { RequestDeps } from '../http/context.ts';

type Deps = Pick<RequestDeps, 'store' | 'sagas'>;

/**
 * Has the quotas of the project count sandboxes, before anything of them is made.
 * @throws MayflyError project_quota_exceeded, quota_exceeded: none of them is counted
 */
export function admit({ store, sagas }: Deps, sandboxIds: readonly string[], size: Size): Promise<void> {
  const wanted = sandboxIds.map((sandboxId) => ({ sandboxId, ...size }));
  return store.admissions.admit(wanted, (id) => sagas.isOpen(id));
}

/** Begins one that was admitted. Where it is certain that nothing of it began, it does not count any more. */
export async function uncountedWhenRefused<T>({ store }: Deps, sandboxId: string, begin: () => Promise<T>): Promise<T> {
  try {
    return await begin();
  } catch (error) {
    if (isRefusal(error)) await store.admissions.release([sandboxId]);
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof MayflyError)) return false;
  return error.code === 'name_taken' || (error.code === 'temporal_unavailable' && error.options.mayHaveBegun !== true);
}
