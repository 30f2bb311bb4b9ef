import { MayflyError } from '../../model/errors.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isUnclaimed } from '../../model/sandbox/sandbox-state.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Request to a path below `/v1/sandboxes/{id}`. */
interface GuardedRequest {
  method: string;
  path: string;
}

/** Paths that read a guest. */
const IN_GUEST = /^\/v1\/sandboxes\/[^/]+\/(?:files|diff|ports|desktop)(?:\/|$)/;
const BUILDS = {
  image: 'an image is built',
  source: 'a source is built',
  playbook: 'a playbook is tried',
  run: 'a function runs',
};

/**
 * Refuses operations on reserved sandboxes: unclaimed members of pools, and those that build or run for Mayfly. Reads
 * of the record, events and audit, and a destroy are always allowed.
 * @throws MayflyError sandbox_not_running
 */
export async function assertNotReserved(
  deps: Pick<ServiceDeps, 'store'>,
  record: SandboxRecord,
  request: GuardedRequest,
): Promise<void> {
  const { id, builds } = record;
  if (!canBeReserved(request)) return;
  if (isUnclaimed(record)) {
    throw new MayflyError('sandbox_not_running', `${id} is an unclaimed member of a pool: a create claims it.`);
  }
  if (!builds) return;
  if (isChange(request)) {
    throw new MayflyError('sandbox_not_running', `${id} is where ${BUILDS[builds]}: nothing else is done there.`);
  }
  // The guest of a builder holds secrets that responses do not mask.
  if (!IN_GUEST.test(request.path) || (await isWithoutSecrets(deps, record))) return;
  throw new MayflyError('sandbox_not_running', `${id} is where ${BUILDS[builds]}, which may have been given secrets.`);
}

/** Reports whether such a request can be refused, by its path and method alone. */
export function canBeReserved({ method, path }: GuardedRequest): boolean {
  return isChange({ method, path }) || method === 'PATCH' || IN_GUEST.test(path);
}

function isChange({ method, path }: GuardedRequest): boolean {
  return method === 'POST' || method === 'PUT' || (method === 'DELETE' && IN_GUEST.test(path));
}

async function isWithoutSecrets({ store }: Pick<ServiceDeps, 'store'>, { id, builds, spec }: SandboxRecord) {
  const runId = spec.metadata['run']; // missing for a setup
  if (builds !== 'run' || runId === undefined) return false;
  const run = await store.runs.get(runId);
  return run?.attempts.find(({ sandboxId }) => sandboxId === id)?.secrets.length === 0;
}
