import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyError } from '../../model/errors.ts';
import type { DeployRequest } from '../../model/functions/deploy-request.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { deriveSetupKey, type SetupRecord, toSetupInputs } from '../../model/functions/setup/setup.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { formatUnmaskedWarning, type SecretUse } from '../../model/secrets/secret.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { requireFunction, type ServiceDeps } from '../service-deps.ts';

/** Poll interval of the store, ms. */
const POLL_MS = 250;

/** Prepares the setup that a version is forked from, unless it exists. Retries a failed one. */
export async function startSetup(
  { store, sagas, logger }: ServiceDeps,
  actor: Actor,
  spec: FunctionSpec,
): Promise<void> {
  const setupRequest = toSetupInputs(spec);
  if (!setupRequest) return;
  const { project, key: setupKey, state } = await store.functionSetups.ensure(actor, setupRequest);
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
  while ((await setupOf(deps, spec))?.state === 'preparing') await sleep(POLL_MS, undefined, { signal });
}

type SetupStatus = Pick<SetupRecord, 'state' | 'snapshotKind' | 'failure' | 'log' | 'waitingFor'>;

/** Returns the status of a version's setup; null when it has none. */
export async function describeSetup(deps: Pick<ServiceDeps, 'store'>, spec: FunctionSpec): Promise<SetupStatus | null> {
  if (!spec.setup) return null;
  const found = await setupOf(deps, spec);
  return found ?? { state: 'preparing', snapshotKind: null, failure: null, log: null, waitingFor: null };
}

async function setupOf({ store }: Pick<ServiceDeps, 'store'>, spec: FunctionSpec): Promise<SetupRecord | null> {
  const wish = toSetupInputs(spec);
  return wish && store.functionSetups.get(deriveSetupKey(wish));
}

/** @throws MayflyError secret_not_found, which names each missing secret */
export async function resolveSecrets(
  { store }: Pick<ServiceDeps, 'store'>,
  { secrets }: Pick<DeployRequest, 'secrets'>,
): Promise<SecretUse[]> {
  const found = await Promise.all(secrets.map(({ name }) => store.secrets.get(name)));
  const fields = secrets.flatMap(({ name }, n) =>
    found[n] && found[n].valueId !== null
      ? []
      : [{ field: `secrets.${n}.name`, problem: `there is no secret ${name}` }],
  );
  if (fields.length === 0) return secrets.map(({ name, env = null, file = null }) => ({ name, env, file }));
  const names = [...new Set(fields.map(({ problem }) => problem))].join(', ');
  throw new MayflyError('secret_not_found', `The function names what is not there: ${names}.`, { fields });
}

/** Returns warnings about the secrets of a version: missing ones, and those that are not masked. */
export async function warningsOf(
  { store }: Pick<ServiceDeps, 'store'>,
  uses: readonly Pick<SecretUse, 'name'>[],
): Promise<string[]> {
  const names = [...new Set(uses.map(({ name }) => name))];
  const found = await Promise.all(names.map((name) => store.secrets.get(name)));
  return names.flatMap((name, n) => {
    const record = found[n];
    if (!record || record.valueId === null) return [`There is no secret ${name} any more: no run is started.`];
    return record.notMasked === null ? [] : [formatUnmaskedWarning(name, record.notMasked)];
  });
}

/** Pauses or resumes a function. @throws MayflyError function_not_found, function_draining */
export async function setFunctionState(
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

/**
 * Deletes a function.
 * @returns the draining function until its runs have ended; null when it is removed
 * @throws MayflyError function_not_found, function_in_use
 */
export async function removeFunction(deps: ServiceDeps, name: string, isDrained: boolean) {
  const { store } = deps;
  const { state } = await requireFunction(deps, name);
  const isToDrain = isDrained || state === 'draining';
  if (isToDrain || !(await store.runs.areOpen(name))) {
    await store.functions.change(name, { state: 'draining', updatedAt: new Date().toISOString() });
    await awaitCacheExpiry(); // runs that other processes accept until then count below
    if (!(await store.runs.areOpen(name))) {
      await store.functions.remove(name);
      return null;
    }
    if (isToDrain) return requireFunction(deps, name);
    await store.functions.change(name, { state }); // a run was accepted in between
    await awaitCacheExpiry();
  }
  throw new MayflyError('function_in_use', `Runs of ${name} have not ended.`);
}
