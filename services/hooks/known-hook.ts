import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { hookIdFrom, ID_BYTES, isHookId } from '../../model/ids.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { HookRecord } from '../../model/webhooks/hook.ts';
import type { Store } from '../../store/connect.ts';
import { type ProjectStore, storeOf } from '../../store/project-store.ts';
import type { Acceptance } from '../intake/acceptance.ts';
import type { KnownFunction } from '../intake/function-cache.ts';

/** A hook that takes events, as its project sees the store. */
export interface KnownHook {
  hook: HookRecord;
  store: ProjectStore;
  target: KnownFunction;
}

/** Looked for in place of what cannot be had, so that it takes as long. */
const NOBODY = { id: hookIdFrom(new Uint8Array(ID_BYTES)), project: '-', function: 'none' };
const NO_SECRET = randomBytes(32);
const NO_SIGNATURE = Buffer.alloc(32);
const GONE = new Set(['function_not_found', 'function_draining']);

/**
 * Null, after the same work: there is no such hook, it is disabled, its function is gone or going, or its project is.
 * @throws MayflyError store_unavailable
 */
export async function knownHook(store: Store, acceptance: Acceptance, id: string): Promise<KnownHook | null> {
  const found = await store.hooks.get(isHookId(id) ? id : NOBODY.id);
  const hook = found?.disabledAt === null ? found : null;
  const { project, function: name } = hook ?? NOBODY;
  const seen = storeOf(store, { project, isOperator: false });
  const [isThere, target] = await Promise.all([
    !hook || project === DEFAULT_PROJECT || store.projects.lately(project),
    acceptance.target({ store: seen }, name).catch(nullWhenGone),
  ]);
  return hook && isThere && target ? { hook, store: seen, target } : null;
}

/** What takes as long as to find that a signature is of no secret, and holds nothing of what comes. */
export async function verifyNothing(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const hmac = createHmac('sha256', NO_SECRET);
  for await (const piece of pieces) hmac.update(piece);
  timingSafeEqual(hmac.digest(), NO_SIGNATURE);
}

function nullWhenGone(error: unknown): null {
  if (error instanceof MayflyError && GONE.has(error.code)) return null;
  throw error;
}
