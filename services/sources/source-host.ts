import { MayflyError } from '../../model/errors.ts';
import { type HostRef, hostRefOf, isLive } from '../../model/host.ts';
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
 * The host whose source of that name is meant.
 * @param wish the host that the caller named, if any
 * @throws MayflyError no_host, source_not_found; invalid_request when several hosts have one
 */
export async function placeSource(store: ProjectStore, name: string, wish: string | undefined): Promise<PlacedSource> {
  await refuseUnplaceable(store, name);
  const live = (await store.hosts.list()).filter((host) => isLive(host));
  const having = live.filter((host) => host.sources.some((source) => source.name === name));
  const hosts = wish === undefined ? having : having.filter(({ id }) => id === wish);
  const [host, ...others] = hosts;
  if (host === undefined) {
    throw new MayflyError('source_not_found', `The host ${wish} has no source named ${JSON.stringify(name)}.`);
  }
  if (others.length > 0)
    throw ambiguous(
      name,
      hosts.map(({ id }) => id),
    );
  return { id: sourceIdOf(host.id, name), ...hostRefOf(host), name };
}

/**
 * The source of that name that can be looked at.
 * @throws MayflyError source_not_prepared, source_not_found, no_host; invalid_request when several hosts have one
 */
export async function preparedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<SourceAccess> {
  const known = await store.sources.named(name);
  const prepared = known.filter(({ state, hostId }) => state === 'prepared' && (wish === undefined || hostId === wish));
  const [one, ...others] = prepared;
  if (others.length > 0)
    throw ambiguous(
      name,
      prepared.map(({ hostId }) => hostId),
    );
  if (one) return one;
  await placeSource(store, name, wish);
  throw new MayflyError('source_not_prepared', `The source ${JSON.stringify(name)} is not prepared for looking.`);
}

/**
 * Where something may have to be undone: also of a source that its host does not list any more.
 * @throws MayflyError as {@link placeSource}
 */
export async function changedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<PlacedSource> {
  const known = await store.sources.named(name);
  const changed = known.filter(
    ({ state, hostId }) => state !== 'unprepared' && (wish === undefined || hostId === wish),
  );
  const [one, ...others] = changed;
  if (others.length > 0)
    throw ambiguous(
      name,
      changed.map(({ hostId }) => hostId),
    );
  return one ?? placeSource(store, name, wish);
}

/**
 * The source of that name that was made of a snapshot, also when it is gone.
 * @throws MayflyError source_not_baked, source_not_found, no_host; invalid_request when several hosts have one
 */
export async function bakedSourceOf(store: ProjectStore, name: string, wish: string | undefined): Promise<BakedSource> {
  const known = await store.bakedSources.named(name);
  const here = known.filter(({ hostId }) => wish === undefined || hostId === wish);
  const present = here.filter(({ state }) => state !== 'deleted' && state !== 'failed');
  const [one, ...others] = present;
  if (others.length > 0)
    throw ambiguous(
      name,
      present.map(({ hostId }) => hostId),
    );
  if (one) return one;
  const [gone] = here;
  const live = (await store.hosts.list()).filter((host) => isLive(host));
  const isListed = live.some(({ id, sources }) => {
    return (wish === undefined || id === wish) && sources.some((source) => source.name === name);
  });
  if (gone && !isListed) return gone;
  await placeSource(store, name, wish);
  throw new MayflyError('source_not_baked', `The source ${JSON.stringify(name)} was not made by Mayfly, and stays.`);
}

/**
 * Whose audit trail is meant: also that of a baked source which is gone.
 * @throws MayflyError as {@link placeSource}
 */
export async function auditedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<PlacedSource> {
  const known = await store.bakedSources.named(name);
  const [one, ...others] = known.filter(({ hostId }) => wish === undefined || hostId === wish);
  return one && others.length === 0 ? one : changedSource(store, name, wish);
}

function ambiguous(name: string, hostIds: string[]): MayflyError {
  const problem = `is needed: ${hostIds.join(', ')} each have a source of that name`;
  return new MayflyError('invalid_request', `Which ${JSON.stringify(name)} is meant? hostId ${problem}.`, {
    fields: [{ field: 'hostId', problem }],
  });
}
