import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { type SetupRecord, setupKeyOf, setupWishOf } from '../../model/functions/setup/setup.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import type { versionAnswer } from './function-schemas.ts';

/** The store notifies nobody. Milliseconds. */
const LOOK_EVERY_MS = 250;

/** Has what a version is forked from prepared, unless it is there; what has failed is tried once more. */
export async function beginSetup(
  { store, sagas, logger }: RequestDeps,
  actor: Actor,
  spec: FunctionSpec,
): Promise<void> {
  const wish = setupWishOf(spec);
  if (!wish) return;
  const { project, key: setupKey, state } = await store.functionSetups.ensure(actor, wish);
  if (state !== 'preparing') return;
  await sagas.functions.wantSetup({ project, setupKey }).catch((error: unknown) => {
    logger.info({ err: error, setupKey }, 'a setup is begun by the next look');
  });
}

/** As long as the caller prefers; `@default` not at all. */
export async function awaitSetup(c: Context<Env>, deps: RequestDeps, spec: FunctionSpec): Promise<void> {
  if (c.req.header('prefer') === undefined || !spec.setup) return;
  await waitAsPreferred(c, async (signal) => {
    while ((await setupOf(deps, spec))?.state === 'preparing') await sleep(LOOK_EVERY_MS, undefined, { signal });
  });
}

/** Null: it has none. */
export async function setupView(
  deps: Pick<RequestDeps, 'store'>,
  spec: FunctionSpec,
): Promise<z.infer<typeof versionAnswer>['setup'] | null> {
  if (!spec.setup) return null;
  const found = await setupOf(deps, spec);
  if (!found) return { state: 'preparing', snapshotKind: null, failure: null, log: null, waitingFor: null };
  const { state, snapshotKind, failure, log, waitingFor } = found;
  return { state, snapshotKind, failure, log, waitingFor };
}

async function setupOf({ store }: Pick<RequestDeps, 'store'>, spec: FunctionSpec): Promise<SetupRecord | null> {
  const wish = setupWishOf(spec);
  return wish && store.functionSetups.get(setupKeyOf(wish));
}
