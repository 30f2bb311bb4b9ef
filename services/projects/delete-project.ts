import { MayflyError } from '../../model/errors.ts';
import type { Project } from '../../model/project.ts';
import type { Store } from '../../store/connect.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';

/**
 * Refuses a project id that is the prefix of an existing source, `<project>.…`: the project would own it. @throws
 * MayflyError project_exists
 */
export async function assertNoForeignSources({ hosts }: Store, id: string): Promise<void> {
  const names = (await hosts.list()).flatMap(({ sources }) => sources.map(({ name }) => name));
  const foreign = names.find((name) => name.startsWith(`${id}.`));
  if (foreign === undefined) return;
  throw new MayflyError('project_exists', `The source ${JSON.stringify(foreign)} would belong to a project ${id}.`);
}

/**
 * Deletes a project. Marks it first, so that its keys are refused: concurrent work is either seen here or refused.
 * @throws MayflyError project_in_use
 */
export async function deleteProject(store: Store, id: string): Promise<Project> {
  const deletedAt = new Date().toISOString();
  const before = await store.projects.markDeleted(id, deletedAt);
  if (before) await awaitCacheExpiry(); // what starts until then is seen below
  const left = before ? await findRemaining(store, id) : 'it is the first project';
  if (!before || left !== null) {
    await store.projects.markDeleted(id, null);
    await awaitCacheExpiry();
    throw new MayflyError('project_in_use', `The project ${id} is not deleted: ${left}.`);
  }
  const keys = (await store.apiKeys.list()).filter(({ project, revokedAt }) => project === id && revokedAt === null);
  for (const key of keys) await store.apiKeys.revokeUnlessLast(key.id);
  return { ...before, deletedAt };
}

/** Returns the first remaining resource of a project; null when none remains. */
async function findRemaining(store: Store, id: string): Promise<string | null> {
  const { sandboxes, pools, snapshots, captures, bakedSources } = store;
  const isOfProject = ({ project }: { project: string }) => project === id;
  const living = (await sandboxes.list({ project: id, alive: true, limit: 1 })).items;
  const kept = (await snapshots.kept()).filter(isOfProject);
  const copies = (await captures.all(['creating', 'ready', 'deleting'])).filter(isOfProject);
  const baked = (await bakedSources.all(['baking', 'ready', 'deleting'])).filter(isOfProject);
  const ready = (await pools.all()).filter(isOfProject).map(({ name }) => ({ id: `the pool ${name}` }));
  const [first] = [...living, ...ready, ...kept, ...copies, ...baked, ...(await listAutomation(store, id))];
  return first ? `${first.id} is left of it` : null;
}

/** Lists resources that act by themselves, or serve those: after the deletion no key could delete these. */
async function listAutomation(
  { functions, functionSetups, schedules, webhookEndpoints, secrets }: Store,
  project: string,
): Promise<{ id: string }[]> {
  const toNamed = (what: string, all: readonly { name: string }[]) =>
    all.map(({ name }) => ({ id: `the ${what} ${name}` }));
  const setups = (await functionSetups.all()).filter((setup) => setup.project === project);
  const unreadable: Unreadable[] = [];
  return [
    ...toNamed('schedule', await schedules.list(project, unreadable)),
    ...toNamed('function', await functions.list(project)),
    ...setups.map(() => ({ id: 'the setup of a function' })),
    ...(await webhookEndpoints.list(project, unreadable)),
    ...toNamed('secret', await secrets.list(project)),
    ...unreadable,
  ];
}
