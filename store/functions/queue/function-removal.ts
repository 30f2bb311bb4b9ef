import type { FunctionVersion } from '../../../model/functions/function.ts';
import { deriveSetupKey, toSetupInputs } from '../../../model/functions/setup/setup.ts';
import type { Schedules } from '../../schedules/schedules.ts';
import type { Unreadable } from '../../sealed/sealed-fields.ts';
import type { FunctionFiles } from '../function-files.ts';
import { type FunctionVersions, versionOfId } from '../function-versions.ts';
import type { FunctionRef, Functions } from '../functions.ts';
import type { Hooks } from '../hooks.ts';
import type { Runs } from '../runs.ts';
import { releaseSetup } from '../setup/ensured-setup.ts';
import type { FunctionSetups } from '../setup/function-setups.ts';
import type { RunQueue } from './run-queue.ts';

interface VersionStores {
  functionVersions: FunctionVersions;
  functionFiles: FunctionFiles;
  functionSetups: FunctionSetups;
}

interface Stores extends VersionStores {
  functions: Functions;
  hooks: Hooks;
  schedules: Schedules;
}

/** Removes a function with its hooks, schedules and versions. Idempotent. */
export async function removeFunction(stores: Stores, ref: FunctionRef): Promise<void> {
  await stores.hooks.removeOf(ref);
  await stores.schedules.deleteOf(ref);
  const unreadable: Unreadable[] = [];
  for (const version of await stores.functionVersions.list(ref, unreadable)) await removeVersion(stores, version);
  for (const { id } of unreadable) await stores.functionVersions.remove(ref, versionOfId(id));
  await stores.functions.remove(ref);
}

/** Removes a version, and its files when no other has them. Releases its setup, whose workflow removes the snapshot. */
export async function removeVersion(
  { functionFiles, ...stores }: VersionStores,
  { project, function: name, version, spec }: FunctionVersion,
): Promise<void> {
  const { functionVersions } = stores;
  const { filesDigest } = spec;
  await functionVersions.remove({ project, name }, version);
  const wish = toSetupInputs(spec);
  if (wish) await releaseSetup(stores, { project, key: deriveSetupKey(wish) });
  if (filesDigest === null || (await functionVersions.haveFiles(project, filesDigest))) return;
  await functionFiles.remove(project, filesDigest);
}

/** Reports whether a run has not ended, or its cleanup may be incomplete. */
export async function hasOpenRuns(
  { runs, runQueue }: { runs: Runs; runQueue: RunQueue },
  { project, name }: FunctionRef,
): Promise<boolean> {
  if (await runQueue.next({ project, name }, '')) return true;
  return runs.areOpen({ project, function: name });
}
