import type { Context } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { grants } from '../../model/scopes.ts';
import { type Attempt, freeRequest } from '../../services/idempotent-attempt.ts';
import type { Env, RequestDeps } from '../http/context.ts';

/** Spares a saga that would be refused. @param id of who asks @throws MayflyError name_taken */
export async function refuseTakenName({ store }: Pick<RequestDeps, 'store'>, id: string, name: string): Promise<void> {
  const holder = await store.sandboxes.named(name);
  if (holder && holder.id !== id) throw new MayflyError('name_taken', `Another sandbox that lives is named ${name}.`);
}

/**
 * Makes a sandbox that may be refused its name. Then its Idempotency-Key is free: nothing was made.
 * @throws MayflyError name_taken, which says who has it to whoever may read that; what `make` throws
 */
export async function tellingWhoHasIt<T>(
  c: Context<Env>,
  { store }: Pick<RequestDeps, 'store'>,
  attempt: Attempt,
  name: string | undefined,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await make();
  } catch (error) {
    const isRefused = isMayflyError(error, 'name_taken') && name !== undefined;
    if (!isRefused) throw error;
    if (attempt.isFresh) await freeRequest(store, attempt);
    const holder = grants(c.get('apiKey').scopes, 'sandboxes:read') ? await store.sandboxes.named(name) : null;
    if (!holder) throw error;
    throw new MayflyError('name_taken', `${holder.id}, which is ${holder.state}, is named ${name}.`, { cause: error });
  }
}
