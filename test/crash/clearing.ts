import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { entriesOf } from '../../host/os/directory.ts';
import { SimulatedSources } from '../../host/simulated/source/running-source.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { eventually } from '../support/eventually.ts';
import { ask, WAIT } from './asking.ts';
import { withoutFunctions } from './functions/clearing.ts';
import type { Stage } from './stage.ts';

/** Name prefix of the harness's own sources. */
const OWN_SOURCE = 'server-';

/** Removes the resources of a cell through the API, as a user would. */
export async function cleared(stage: Stage): Promise<void> {
  const { client } = stage;
  await withoutFunctions(stage);
  for (const { name, shared } of (await ask(() => client.pools.list())).items) await withoutPool(client, name, shared);
  const { items } = await ask(() => client.listSandboxes({ limit: 20 }));
  await Promise.all(items.filter(({ state }) => !isFinal(state)).map(({ id }) => destroyed(client, id)));
  await Promise.all(items.map(({ id }) => withoutSnapshots(stage, id)));
  const sources = await ask(() => client.listSources());
  for (const { name } of sources.items) {
    if (name.startsWith('baked-')) await withoutSource(client, name);
    if (name.startsWith(OWN_SOURCE)) await withoutCaptures(client, name);
  }
  const images = join(stage.mayfly.hostDir(), 'images');
  const running = new SimulatedSources(images);
  for (const name of (await entriesOf(images)) ?? []) {
    if (!name.startsWith(OWN_SOURCE)) continue;
    await running.stop(name);
    await rm(join(images, name), { recursive: true });
  }
}

async function destroyed(client: MayflyClient, id: string): Promise<void> {
  const { state } = await ask(() => client.destroySandbox(id, WAIT));
  if (!isFinal(state)) await destroyed(client, id);
}

/** Deletes a pool; a repeated request may find it gone. */
export async function withoutPool(client: MayflyClient, name: string, shared = false): Promise<void> {
  try {
    while ((await ask(() => client.pools.delete(name, { ...WAIT, shared }))).state !== 'deleted');
  } catch (error) {
    if (!(error instanceof MayflyApiError && error.code === 'pool_not_found')) throw error;
  }
}

async function withoutSnapshots({ client, made }: Stage, sandboxId: string): Promise<void> {
  const { items } = await ask(() => client.snapshots.list(sandboxId));
  const kept = 'snapshotId' in made ? made.snapshotId : null;
  for (const { id, state } of items)
    if (state === 'ready' && id !== kept) await ask(() => client.snapshots.delete(id, WAIT));
}

/** Deletes a source; a failed bake is still listed until the host describes itself again. */
async function withoutSource(client: MayflyClient, name: string): Promise<void> {
  const isListed = async () => (await ask(() => client.listSources())).items.some((source) => source.name === name);
  await ask(() => client.sources.delete(name, WAIT)).catch(async (error: unknown) => {
    if (!(error instanceof MayflyApiError && error.code === 'source_not_baked')) throw error;
    await eventually(isListed, (listed) => !listed);
  });
}

async function withoutCaptures(client: MayflyClient, name: string): Promise<void> {
  const { items } = await ask(() => client.captures.list(name));
  for (const { id, state } of items) if (state === 'ready') await ask(() => client.captures.delete(id, WAIT));
}
