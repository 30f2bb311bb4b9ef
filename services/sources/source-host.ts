import { MayflyError } from '../../model/errors.ts';
import { type HostRef, isLive, type StoredHost, toHostRef } from '../../model/host.ts';
import { deriveSourceId, sandboxIdFrom } from '../../model/ids.ts';
import { canNameSource } from '../../model/project.ts';
import type { Size } from '../../model/project-limits.ts';
import type { Actor, Network } from '../../model/sandbox/sandbox.ts';
import { type BakeSourceInput, newBakeRecord } from '../../model/snapshots/bake-saga.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { deriveId, type IdempotentCall } from '../idempotent-call.ts';
import { admit } from '../sandboxes/admission.ts';
import { assertPlaceable, placeableOrigin } from '../sandboxes/placement.ts';
import { requireSnapshot, type ServiceDeps } from '../service-deps.ts';

/** Source on one host. */
export interface PlacedSource extends HostRef {
  id: string;
  name: string;
}

/**
 * Returns the source of a name on the live host that lists it.
 * @param wish host id from the caller
 * @throws MayflyError no_host, source_not_found; invalid_request when several hosts have one
 */
export async function placeSource(store: ProjectStore, name: string, wish: string | undefined): Promise<PlacedSource> {
  await assertPlaceable(store, name);
  const having = (await liveHostsWith(store, name)).map(toHostRef);
  const host = assertSingle(name, wish, having);
  if (host) return { id: deriveSourceId(host.hostId, name), ...host, name };
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
  const one = assertSingle(name, wish, prepared);
  if (one) return one;
  await placeSource(store, name, wish);
  throw new MayflyError('source_not_prepared', `The source ${JSON.stringify(name)} is not prepared for looking.`);
}

/**
 * Returns a source that a preparation has changed, even when its host no longer lists it.
 * @throws MayflyError as {@link placeSource}
 */
export async function changedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<PlacedSource> {
  const known = await store.sources.named(name);
  const changed = known.filter(({ state }) => state !== 'unprepared');
  return assertSingle(name, wish, changed) ?? placeSource(store, name, wish);
}

/**
 * Returns the baked source of a name, also a deleted one.
 * @throws MayflyError source_not_baked, source_not_found, no_host; invalid_request when several hosts have one
 */
export async function bakedSourceOf(store: ProjectStore, name: string, wish: string | undefined): Promise<BakedSource> {
  const known = await store.bakedSources.named(name);
  const present = known.filter(({ state }) => state !== 'deleted' && state !== 'failed');
  const one = assertSingle(name, wish, present);
  if (one) return one;
  const gone = known.find(isOn(wish));
  const isListed = (await liveHostsWith(store, name)).map(toHostRef).some(isOn(wish));
  if (gone && !isListed) return gone;
  await placeSource(store, name, wish);
  throw new MayflyError('source_not_baked', `The source ${JSON.stringify(name)} was not made by Mayfly, and stays.`);
}

/** Returns the source of an audit trail, also a deleted baked one. @throws MayflyError as {@link placeSource} */
export async function auditedSource(
  store: ProjectStore,
  name: string,
  wish: string | undefined,
): Promise<PlacedSource> {
  const [one, ...others] = (await store.bakedSources.named(name)).filter(isOn(wish));
  return one && others.length === 0 ? one : changedSource(store, name, wish);
}

/** Returns the live hosts that have a source of a name. */
async function liveHostsWith({ hosts }: Pick<ProjectStore, 'hosts'>, name: string): Promise<StoredHost[]> {
  const live = (await hosts.list()).filter((host) => isLive(host));
  return live.filter(({ sources }) => sources.some((source) => source.name === name));
}

function isOn(wish: string | undefined) {
  return ({ hostId }: Pick<HostRef, 'hostId'>) => wish === undefined || hostId === wish;
}

/** @throws MayflyError invalid_request when several hosts match */
function assertSingle<T extends Pick<HostRef, 'hostId'>>(
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

interface BakeRequest {
  name: string;
  fromSnapshot: string;
}

/**
 * Starts a bake, or finds that of an earlier attempt: a claim with a record has been started.
 * @throws MayflyError snapshot_not_found, snapshot_not_ready, no_host, source_exists, forbidden
 */
export async function startBake(
  deps: Pick<ServiceDeps, 'store' | 'sagas'>,
  call: IdempotentCall,
  actor: Actor,
  request: BakeRequest,
): Promise<BakeSourceInput> {
  const { store, sagas } = deps;
  const input = await inputOf(store, call, actor, request);
  const present = await store.bakedSources.get(input.sourceId);
  if (present?.bakeId === input.bakeId) return input;
  await assertNameFree(store, input.name);
  await admit(deps, [input.builderId], input.size);
  await sagas.sources.bake(input);
  return input;
}

/** Returns the record of a bake. @param isOver true when its workflow has ended @throws MayflyError source_exists */
export async function bakeOf(store: ProjectStore, input: BakeSourceInput, isOver: boolean): Promise<BakedSource> {
  const known = await store.bakedSources.get(input.sourceId);
  if (known?.bakeId === input.bakeId) return known;
  if (isOver) throw new MayflyError('source_exists', `${input.hostId} has made ${input.name} meanwhile.`);
  return newBakeRecord(input);
}

async function inputOf(
  store: ProjectStore,
  { subjectId: bakeId }: IdempotentCall,
  actor: Actor,
  { name, fromSnapshot }: BakeRequest,
): Promise<BakeSourceInput & { size: Size }> {
  const { network, size } = await placeableOrigin(store, { snapshotId: fromSnapshot });
  if (!store.viewer.isOperator) refuseAsTenant(name, network, actor.project);
  const { id, sandboxId, hostId, installationId, source } = await requireSnapshot({ store }, fromSnapshot);
  return {
    bakeId,
    sourceId: deriveSourceId(hostId, name),
    hostId,
    installationId,
    name,
    snapshot: { id, sandboxId, source },
    builderId: deriveId(sandboxIdFrom, bakeId, 'builder'),
    size,
    actor,
    requestedAt: new Date().toISOString(),
  };
}

/** @throws MayflyError forbidden, invalid_request */
function refuseAsTenant(name: string, { allowed = 'internet' }: Network, project: string): void {
  if (allowed !== 'internet') {
    const why = 'what is made of it could reach more than the capture allows that it was made of';
    throw new MayflyError('forbidden', `Only operators make a source of that snapshot: ${why}.`);
  }
  assertOwnName(project, name);
}

/** @throws MayflyError invalid_request */
export function assertOwnName(project: string, name: string): void {
  if (canNameSource(project, name)) return;
  const problem = `must begin with \`${project}.\`, as sources of that project do`;
  throw new MayflyError('invalid_request', `The name ${problem}.`, { fields: [{ field: 'name', problem }] });
}

/** Refuses a name that a source of any host has. The workflow checks again. @throws MayflyError source_exists */
export async function assertNameFree(store: ProjectStore, name: string): Promise<void> {
  const having = (await liveHostsWith(store, name)).map(({ id }) => id);
  if (having.length === 0) return;
  throw new MayflyError('source_exists', `${having.join(', ')} has a source named ${JSON.stringify(name)}.`);
}
