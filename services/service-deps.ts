import type { Logger } from 'pino';
import { type ErrorCode, MayflyError } from '../model/errors.ts';
import type { Backlog } from '../model/functions/run.ts';
import type { ProjectStore } from '../store/project-store.ts';
import type { ApiWorkflows } from '../temporal/temporal-sagas.ts';
import type { Guests } from './guests.ts';
import type { PoolDoor } from './pool-door.ts';

/** Dependencies of application logic; the store is limited to the caller's project. */
export interface ServiceDeps {
  store: ProjectStore;
  sagas: ApiWorkflows;
  guests: Guests;
  poolDoor: PoolDoor;
  /** Limits of queued runs of one project, and of one key. `@default` model/limits.ts */
  queueLimits?: Backlog & { runsOfKey?: number };
  logger: Logger;
}

/** Returns a value. @throws MayflyError when it is missing */
export function orThrow<T>(found: T | null | undefined | false, code: ErrorCode, why: string): T {
  if (found === null || found === undefined || found === false) throw new MayflyError(code, why);
  return found;
}

/** Returns a function that gets a record by its id or name, or throws. */
function finderOf<T>(code: ErrorCode, noun: string, find: (store: ProjectStore, id: string) => Promise<T | null>) {
  return async ({ store }: Pick<ServiceDeps, 'store'>, id: string): Promise<T> =>
    orThrow(await find(store, id), code, `There is no ${noun} ${id}.`);
}

export const requireCapture = finderOf('capture_not_found', 'capture', ({ captures }, id) => captures.get(id));
export const requireEndpoint = finderOf('endpoint_not_found', 'webhook endpoint', ({ webhookEndpoints }, id) =>
  webhookEndpoints.get(id),
);
export const requireFunction = finderOf('function_not_found', 'function', ({ functions }, name) => functions.get(name));
export const requireHook = finderOf('hook_not_found', 'hook', ({ hooks }, id) => hooks.get(id));
export const requireImage = finderOf('image_not_found', 'image', ({ images }, id) => images.get(id));
export const requirePlaybook = finderOf('playbook_not_found', 'playbook', ({ playbooks }, id) => playbooks.get(id));
export const requireProject = finderOf('project_not_found', 'project', async (store, id) =>
  (await store.hasProject(id)) ? id : null,
);
export const requireRun = finderOf('run_not_found', 'run', ({ runs }, id) => runs.get(id));
export const requireSandbox = finderOf('sandbox_not_found', 'sandbox', ({ sandboxes }, id) => sandboxes.get(id));
export const requireTemplate = finderOf('template_not_found', 'template', ({ templates }, id) => templates.get(id));
/** Hides snapshots of functions' setups from callers. */
export const requireSnapshot = finderOf('snapshot_not_found', 'snapshot', async ({ snapshots }, id) => {
  const found = await snapshots.get(id);
  return found?.reason === 'setup' ? null : found;
});
/** Hides deleted schedules, which are kept while their runs are counted. */
export const requireSchedule = finderOf('schedule_not_found', 'schedule', async ({ schedules }, name) => {
  const found = await schedules.get(name);
  return found?.deletedAt === null ? found : null;
});

/** @throws MayflyError function_version_not_found */
export async function requireVersion({ store }: Pick<ServiceDeps, 'store'>, name: string, version: number) {
  const found = await store.functionVersions.get(name, version);
  return orThrow(found, 'function_version_not_found', `${name} has no version ${version}.`);
}
