import type { z } from '@hono/zod-openapi';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import { operationIdFrom } from '../../model/ids.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import { describeSource, listSources } from '../../services/sources/known-sources.ts';
import { auditedSource, bakedSourceOf, bakeOf, startBake } from '../../services/sources/source-host.ts';
import { auditPage, pageOfChain } from '../audit/audit.ts';
import { waitAsPreferred } from '../http/context.ts';
import { fail, type Outcome, type Route, reply, routeOf } from '../http/route.ts';
import { idempotencyHeaders, json, pageOf, preferHeaders, SAGA } from '../http/schemas.ts';
import { answerOnce } from '../idempotency/answer-once.ts';
import { answerDeletion } from '../resources/deletion.ts';
import { sourceReadRoutes } from './source-reads.ts';
import {
  bakedAnswer,
  bakeSource,
  onHost,
  sourceAnswer,
  sourceAuditQuery,
  sourceDetail,
  sourceParams,
} from './source-schemas.ts';
import { sourceTaskRoutes } from './source-tasks.ts';

const route = routeOf('sources');

const ALL = '/v1/sources';
const ONE = `${ALL}/{name}`;
const location = ({ name }: { name: string }) => `${ALL}/${encodeURIComponent(name)}`;

export const sourceRoutes: Route[] = [
  ...sourceTaskRoutes,
  ...sourceReadRoutes,
  route('getSource', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read one source, and whether it can be looked at',
    in: { params: sourceParams },
    out: { 200: json('The source', sourceDetail) },
    problems: ['source_not_found', 'no_host'],
    handle: ({ store, params: { name } }) => describeSource(store, name),
  }),
  route('getSourceAudit', 'get', `${ONE}/audit`, {
    tag: 'audit',
    scope: 'operator',
    summary: 'Who prepared a source and looked at it, with what',
    in: { params: sourceParams, query: sourceAuditQuery },
    out: { 200: json('One page, oldest first', auditPage) },
    problems: ['source_not_found', 'no_host'],
    handle: async ({ deps, store, params, query: { hostId, ...range } }) => {
      const { id } = await auditedSource(store, params.name, hostId);
      return pageOfChain(deps, id, range);
    },
  }),
  route('listSources', 'get', ALL, {
    tag: 'hosts',
    scope: 'sandboxes:read',
    summary: 'List what sandboxes can be made from, on all live hosts',
    out: { 200: json('All sources', pageOf(sourceAnswer)) },
    handle: async ({ store }) => ({ items: await listSources(store), nextCursor: null }),
  }),
  route('createSource', 'post', ALL, {
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
    location,
    handle: ({ c, deps, respond, actor, body }) => {
      const again = async (bakeId: string) => {
        const record = (await deps.store.bakedSources.named(body.name)).find((one) => one.bakeId === bakeId);
        return record ? outcomeOf(record) : null;
      };
      return answerOnce({ c, respond }, { idFrom: operationIdFrom, again }, async (call) => {
        const input = await startBake(deps, call, actor, body);
        const isOver = await waitAsPreferred(c, (signal) => deps.sagas.sources.bakeEnded(input, signal));
        return outcomeOf(await bakeOf(deps.store, input, isOver));
      });
    },
  }),
  route('deleteSource', 'delete', ONE, {
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
    location,
    handle: async ({ c, deps, respond, store, params: { name }, query }) => {
      const { id: sourceId, hostId, installationId } = await bakedSourceOf(store, name, query.hostId);
      return answerDeletion(
        { c, deps, respond },
        {
          read: () => bakedSourceOf(store, name, hostId),
          view: (source) => source,
          isGone: ({ state }) => state === 'deleted' || state === 'failed', // a failed bake leaves no residue
          begin: (_source, actor) => deps.sagas.sources.delete({ sourceId, hostId, installationId, name, actor }),
          ended: (source, signal) => deps.sagas.sources.bakeEnded(source, signal),
          refusal: ({ state, failure }) =>
            state === 'ready' && failure ? new MayflyError(failure.code, failure.message) : null,
        },
      );
    },
  }),
];

function outcomeOf(record: BakedSource): Outcome<z.infer<typeof bakedAnswer>> {
  const { state, failure } = record;
  if (state !== 'failed' || !failure) return reply(state === 'baking' ? 202 : 201, record);
  const code = isErrorCode(failure.code) ? failure.code : 'bake_failed';
  return fail(new MayflyError(code, `${failure.step}: ${failure.message}`), {}, record);
}
