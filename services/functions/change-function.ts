import { MayflyError } from '../../model/errors.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { requireFunction } from '../require.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Pauses a function, or has it go on. @throws MayflyError function_not_found, function_draining */
export async function switchFunction(
  deps: ServiceDeps,
  name: string,
  from: 'active' | 'paused',
  to: 'active' | 'paused',
) {
  const changes = { state: to, updatedAt: new Date().toISOString() };
  if (await deps.store.functions.change(name, changes, { state: from })) await awaitCacheExpiry();
  const found = await requireFunction(deps, name);
  if (found.state === to) return found;
  throw new MayflyError('function_draining', `${name} is being deleted.`);
}

/** Deletes a function. @returns what is left of it until its runs have ended; null: nothing @throws MayflyError function_not_found, function_in_use */
export async function removeFunction(deps: ServiceDeps, name: string, isDrained: boolean) {
  const { store } = deps;
  const { state } = await requireFunction(deps, name);
  const isToDrain = isDrained || state === 'draining';
  if (isToDrain || !(await store.runs.areOpen(name))) {
    await store.functions.change(name, { state: 'draining', updatedAt: new Date().toISOString() });
    await awaitCacheExpiry(); // what is accepted until then is seen below
    if (!(await store.runs.areOpen(name))) {
      await store.functions.remove(name);
      return null;
    }
    if (isToDrain) return requireFunction(deps, name);
    await store.functions.change(name, { state }); // one came in between
    await awaitCacheExpiry();
  }
  throw new MayflyError('function_in_use', `Runs of ${name} have not ended.`);
}
