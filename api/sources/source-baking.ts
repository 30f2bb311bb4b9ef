import type { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import { isLive } from '../../model/host.ts';
import { operationIdFrom, sandboxIdFrom, sourceIdOf } from '../../model/ids.ts';
import { mayNameSource } from '../../model/project.ts';
import type { Size } from '../../model/project-limits.ts';
import type { Actor, Network } from '../../model/sandbox/sandbox.ts';
import { type BakeSourceInput, requestedBake } from '../../model/snapshots/bake-saga.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import { type Attempt, freedWhenRefused, furtherId } from '../../services/idempotent-attempt.ts';
import { requireSnapshot } from '../../services/require.ts';
import { admit } from '../../services/sandboxes/admission.ts';
import { placeableOrigin } from '../../services/sandboxes/placement.ts';
import { bakedSourceOf } from '../../services/sources/source-host.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { problemResponse } from '../http/problem.ts';
import { SAGA } from '../http/problem-answers.ts';
import { type Route, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, preferHeaders } from '../http/schemas.ts';
import { waitAsPreferred } from '../http/waiting.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { bakedAnswer, bakedView, bakeSource, onHost, sourceParams } from './source-schemas.ts';

const route = routeOf('sources');

type Request = z.output<typeof bakeSource>;

export const sourceBakingRoutes: Route[] = [
  route('bakeSource', 'post', '/v1/sources', {
    scope: 'admin',
    summary: 'Make a source of a snapshot',
    description:
      'The snapshot is cleaned of what makes it one machine (in a sandbox that is made of it and destroyed), shut down, and ' +
      'copied to images of its own: neither the snapshot nor its sandbox is needed afterwards. docs/sources.md says what is removed.',
    in: { headers: idempotencyHeaders, body: bakeSource },
    out: {
      201: json('Sandboxes can be made of it', bakedAnswer),
      202: json('It is being made; Location says where to look', bakedAnswer),
    },
    problems: [
      SAGA,
      'snapshot_not_found',
      'snapshot_not_ready',
      'no_host',
      'source_exists',
      'bake_failed',
      'host_disk_full',
      'capacity_exhausted',
      'quota_exceeded',
      'project_quota_exceeded',
      'too_many_requests',
    ],
    handle: ({ c, deps, body }) => answerBake(c, deps, body),
  }),
  route('deleteSource', 'delete', '/v1/sources/{name}', {
    scope: 'admin',
    summary: 'Delete a source that was made of a snapshot',
    description:
      'Refused while a sandbox or a snapshot refers to its images, and for sources that Mayfly did not make.',
    in: { params: sourceParams, query: onHost, headers: preferHeaders },
    out: {
      200: json('Nothing of it is left', bakedAnswer),
      202: json('It is being deleted; Location says where to look', bakedAnswer),
    },
    problems: [SAGA, 'source_not_found', 'source_not_baked', 'source_in_use', 'no_host', 'too_many_requests'],
    handle: ({ c, deps, params, query: { hostId } }) => answerDelete(c, deps, params.name, hostId),
  }),
];

/** @throws MayflyError snapshot_not_found, snapshot_not_ready, no_host, source_exists */
async function answerBake(c: Context<Env>, deps: RequestDeps, request: Request): Promise<Response> {
  const { store, sagas } = deps;
  const actor = actorOf(c);
  const again = async (bakeId: string) => {
    const record = (await store.bakedSources.named(request.name)).find((one) => one.bakeId === bakeId);
    return record ? answerFor(c, record) : null;
  };
  const asked = { idFrom: operationIdFrom, body: request, again };
  return answerOnce(c, asked, async (attempt) => {
    const input = await begin(deps, attempt, request, actor);
    const isOver = await waitAsPreferred(c, (signal) => sagas.sources.bakeEnded(input, signal));
    const known = await store.bakedSources.get(input.sourceId);
    const isMine = known?.bakeId === input.bakeId;
    if (isOver && !isMine) throw new MayflyError('source_exists', `${input.hostId} has made ${input.name} meanwhile.`);
    const record = known && isMine ? known : requestedBake(input);
    return { response: answerFor(c, record), isKept: isHeard(c) };
  });
}

/** A claim with a record has been begun. */
async function begin(deps: RequestDeps, attempt: Attempt, request: Request, actor: Actor): Promise<BakeSourceInput> {
  const { store, sagas } = deps;
  return freedWhenRefused(store, attempt, async () => {
    const input = await inputOf(deps, attempt, request, actor);
    const present = await store.bakedSources.get(input.sourceId);
    if (present?.bakeId === input.bakeId) return input;
    await refuseTaken(deps, input.name);
    await admit(deps, [input.builderId], input.size);
    await sagas.sources.bake(input);
    return input;
  });
}

async function inputOf(
  { store }: RequestDeps,
  { subjectId: bakeId }: Attempt,
  { name, fromSnapshot }: Request,
  actor: Actor,
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
    builderId: furtherId(sandboxIdFrom, bakeId, 'builder'),
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

/** On no host, or the name would mean two things. The snapshot's own host looks once more, in the saga. @throws MayflyError source_exists */
export async function refuseTaken({ store }: RequestDeps, name: string): Promise<void> {
  const live = (await store.hosts.list()).filter((host) => isLive(host));
  const having = live.filter((host) => host.sources.some((source) => source.name === name)).map(({ id }) => id);
  if (having.length === 0) return;
  throw new MayflyError('source_exists', `${having.join(', ')} has a source named ${JSON.stringify(name)}.`);
}

function answerFor(c: Context<Env>, record: BakedSource): Response {
  const { state, failure, name } = record;
  c.header('Location', `/v1/sources/${encodeURIComponent(name)}`);
  if (state === 'failed' && failure) {
    const code = isErrorCode(failure.code) ? failure.code : 'bake_failed';
    return problemResponse(c, new MayflyError(code, `${failure.step}: ${failure.message}`));
  }
  return c.json(bakedView(record), state === 'baking' ? 202 : 201);
}

/** @throws MayflyError too_many_requests while it is baked; what it was refused with */
async function answerDelete(
  c: Context<Env>,
  deps: RequestDeps,
  name: string,
  wishedHost: string | undefined,
): Promise<Response> {
  const { store, sagas } = deps;
  const { id: sourceId, hostId, installationId } = await bakedSourceOf(store, name, wishedHost);
  return answerDeletion(c, {
    location: `/v1/sources/${encodeURIComponent(name)}`,
    read: () => bakedSourceOf(store, name, hostId),
    view: bakedView,
    isGone: ({ state }) => isGone(state),
    begin: (_source, actor) => sagas.sources.delete({ sourceId, hostId, installationId, name, actor }),
    ended: (source, signal) => sagas.sources.bakeEnded(source, signal),
    refusal: ({ state, failure }) =>
      state === 'ready' && failure ? new MayflyError(failure.code, failure.message) : null,
  });
}

/** What failed has left nothing. */
function isGone(state: BakedSource['state']): boolean {
  return state === 'deleted' || state === 'failed';
}
