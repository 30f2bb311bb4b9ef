import { MayflyError } from '../../model/errors.ts';
import { type HostRef, hostRefOf, isLive, type KnownHost } from '../../model/host.ts';
import { sourceIdOf } from '../../model/ids.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { refuseUnplaceable } from '../sandboxes/placement.ts';

/** A source on one host. */
export interface PlacedSource extends HostRef {
  id: string;
  name: string;
}

/**
 * Returns the source of a name on the host that a live one lists it on.
 * @param wish id of the host that the caller names
 * @throws MayflyError no_host, source_not_found; invalid_request when several hosts have one
 */
export async function placeSource(store: ProjectStore, name: string, wish: string | undefined): Promise<PlacedSource> {
  await refuseUnplaceable(store, name);
  const having = (await liveHostsWith(store, name)).map(hostRefOf);
  const host = onlyOne(name, wish, having);
  if (host) return { id: sourceIdOf(host.hostId, name), ...host, name };
  throw new MayflyError('source_not_found', `The host ${wish} has no source named ${JSON.stringify(name)}.`);
}

/**
 * Returns the prepared source of a name.
 * @throws MayflyError source_not_prepared, source_not_found, no_host; invalid_request when several hosts have one
 */
export async function preparedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<SourceAccess> {
  const known = await store.sources.named(name);
  const prepared = known.filter(({ state }) => state === 'prepared');
  const one = onlyOne(name, wish, prepared);
  if (one) return one;
  await placeSource(store, name, wish);
  throw new MayflyError('source_not_prepared', `The source ${JSON.stringify(name)} is not prepared for looking.`);
}

/**
 * Returns the source of a name that preparing has changed, also when its host does not list it any more.
 * @throws MayflyError as {@link placeSource}
 */
export async function changedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<PlacedSource> {
  const known = await store.sources.named(name);
  const changed = known.filter(({ state }) => state !== 'unprepared');
  return onlyOne(name, wish, changed) ?? placeSource(store, name, wish);
}

/**
 * Returns the baked source of a name, also when it is gone.
 * @throws MayflyError source_not_baked, source_not_found, no_host; invalid_request when several hosts have one
 */
export async function bakedSourceOf(store: ProjectStore, name: string, wish: string | undefined): Promise<BakedSource> {
  const known = await store.bakedSources.named(name);
  const present = known.filter(({ state }) => state !== 'deleted' && state !== 'failed');
  const one = onlyOne(name, wish, present);
  if (one) return one;
  const gone = known.find(isOn(wish));
  const isListed = (await liveHostsWith(store, name)).map(hostRefOf).some(isOn(wish));
  if (gone && !isListed) return gone;
  await placeSource(store, name, wish);
  throw new MayflyError('source_not_baked', `The source ${JSON.stringify(name)} was not made by Mayfly, and stays.`);
}

/**
 * Returns the source whose audit trail is read: also a baked one that is gone.
 * @throws MayflyError as {@link placeSource}
 */
export async function auditedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<PlacedSource> {
  const [one, ...others] = (await store.bakedSources.named(name)).filter(isOn(wish));
  return one && others.length === 0 ? one : changedSource(store, name, wish);
}

/** Lists the live hosts that have a source of a name. */
export async function liveHostsWith({ hosts }: Pick<ProjectStore, 'hosts'>, name: string): Promise<KnownHost[]> {
  const live = (await hosts.list()).filter((host) => isLive(host));
  return live.filter(({ sources }) => sources.some((source) => source.name === name));
}

function isOn(wish: string | undefined) {
  return ({ hostId }: Pick<HostRef, 'hostId'>) => wish === undefined || hostId === wish;
}

/** @throws MayflyError invalid_request when several hosts have one */
function onlyOne<T extends Pick<HostRef, 'hostId'>>(
  name: string,
  wish: string | undefined,
  all: readonly T[],
): T | undefined {
  const [one, ...others] = all.filter(isOn(wish));
  if (others.length === 0) return one;
  const problem = `is needed: ${all.map(({ hostId }) => hostId).join(', ')} each have a source of that name`;
  throw new MayflyError('invalid_request', `Which ${JSON.stringify(name)} is meant? hostId ${problem}.`, {
    fields: [{ field: 'hostId', problem }],
  });
}
