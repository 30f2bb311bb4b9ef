import { setTimeout as sleep } from 'node:timers/promises';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { type SetupRecord, setupKeyOf, setupWishOf } from '../../model/functions/setup/setup.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** The store notifies nobody. Milliseconds. */
const LOOK_EVERY_MS = 250;

/** Has what a version is forked from prepared, unless it is there; what has failed is tried once more. */
export async function beginSetup(
  { store, sagas, logger }: ServiceDeps,
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

/** Waits until the setup of a version is ready, or has failed. */
export async function awaitSetup(
  deps: Pick<ServiceDeps, 'store'>,
  spec: FunctionSpec,
  signal: AbortSignal,
): Promise<void> {
  while ((await setupOf(deps, spec))?.state === 'preparing') await sleep(LOOK_EVERY_MS, undefined, { signal });
}

type SetupStatus = Pick<SetupRecord, 'state' | 'snapshotKind' | 'failure' | 'log' | 'waitingFor'>;

/** Returns how far the setup of a version is; null: it has none. */
export async function describeSetup(deps: Pick<ServiceDeps, 'store'>, spec: FunctionSpec): Promise<SetupStatus | null> {
  if (!spec.setup) return null;
  const found = await setupOf(deps, spec);
  return found ?? { state: 'preparing', snapshotKind: null, failure: null, log: null, waitingFor: null };
}

async function setupOf({ store }: Pick<ServiceDeps, 'store'>, spec: FunctionSpec): Promise<SetupRecord | null> {
  const wish = setupWishOf(spec);
  return wish && store.functionSetups.get(setupKeyOf(wish));
}
