import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom, sourceIdOf } from '../../model/ids.ts';
import { mayNameSource } from '../../model/project.ts';
import type { Size } from '../../model/project-limits.ts';
import type { Actor, Network } from '../../model/sandbox/sandbox.ts';
import { type BakeSourceInput, requestedBake } from '../../model/snapshots/bake-saga.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { deriveId, type IdempotentCall } from '../idempotent-call.ts';
import { requireSnapshot } from '../require.ts';
import { admit } from '../sandboxes/admission.ts';
import { placeableOrigin } from '../sandboxes/placement.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { liveHostsWith } from './source-host.ts';

interface BakeRequest {
  name: string;
  fromSnapshot: string;
}

/**
 * Begins a bake, or finds what an earlier attempt began: a claim with a record has been begun.
 * @throws MayflyError snapshot_not_found, snapshot_not_ready, no_host, source_exists, forbidden
 */
export async function beginBake(
  deps: Pick<ServiceDeps, 'store' | 'sagas'>,
  call: IdempotentCall,
  actor: Actor,
  request: BakeRequest,
): Promise<BakeSourceInput> {
  const { store, sagas } = deps;
  const input = await inputOf(store, call, actor, request);
  const present = await store.bakedSources.get(input.sourceId);
  if (present?.bakeId === input.bakeId) return input;
  await refuseTaken(store, input.name);
  await admit(deps, [input.builderId], input.size);
  await sagas.sources.bake(input);
  return input;
}

/** Returns the record of a bake. @param isOver whether its saga has ended @throws MayflyError source_exists */
export async function bakeOf(store: ProjectStore, input: BakeSourceInput, isOver: boolean): Promise<BakedSource> {
  const known = await store.bakedSources.get(input.sourceId);
  if (known?.bakeId === input.bakeId) return known;
  if (isOver) throw new MayflyError('source_exists', `${input.hostId} has made ${input.name} meanwhile.`);
  return requestedBake(input);
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
    sourceId: sourceIdOf(hostId, name),
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
  refuseForeignName(project, name);
}

/** @throws MayflyError invalid_request */
export function refuseForeignName(project: string, name: string): void {
  if (mayNameSource(project, name)) return;
  const problem = `must begin with \`${project}.\`, as sources of that project do`;
  throw new MayflyError('invalid_request', `The name ${problem}.`, { fields: [{ field: 'name', problem }] });
}

/** Refuses a name that a source of any host has, or it would mean two things. The saga looks once more. @throws MayflyError source_exists */
export async function refuseTaken(store: ProjectStore, name: string): Promise<void> {
  const having = (await liveHostsWith(store, name)).map(({ id }) => id);
  if (having.length === 0) return;
  throw new MayflyError('source_exists', `${having.join(', ')} has a source named ${JSON.stringify(name)}.`);
}
