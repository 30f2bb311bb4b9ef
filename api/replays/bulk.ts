import { createHash, randomBytes } from 'node:crypto';
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { type BulkRecord, bulkRecord } from '../../model/functions/bulk.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../model/functions/run-state.ts';
import { bulkIdFrom, ID_BYTES } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { idSchema } from '../../model/request-fields.ts';
import { sha256 } from '../../services/intake/accept-event.ts';
import { parseKey } from '../../services/runs/listed-contents.ts';
import { VERSIONS } from '../../services/runs/replay-run.ts';
import { orThrow, requireFunction } from '../../services/service-deps.ts';
import { functionParams } from '../functions/function-schemas.ts';
import { actorOf, type Env, type RequestDeps } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { json, keyHeaders } from '../http/schemas.ts';
import { pastInstant } from '../runs/run-schemas.ts';

const bulkParams = functionParams.extend({
  bulk: idSchema('bulk', 'the id of a bulk action'),
});

const filter = z
  .strictObject({
    state: z.enum(RUN_STATES).optional(),
    outcome: z.enum(RUN_OUTCOMES).optional(),
    key: z.string().max(LIMITS.functions.keyBytes).optional(),
    since: pastInstant.optional(),
  })
  .openapi({
    description:
      'Which runs, as in the list of runs. Of a redrive only dead letters, of a cancel only those that have not ended',
  });

const bulkBody = z
  .strictObject({
    action: bulkRecord.shape.action,
    version: z.enum(VERSIONS).optional().openapi({
      description: 'Of the function: `same`, unless said otherwise, for a replay; `current` for a redrive',
    }),
    filter: filter.default({}),
  })
  .openapi('StartBulk');

const bulkAnswer = bulkRecord
  .omit({ filter: true, pages: true, place: true, page: true, digest: true })
  .openapi('BulkAction');

const route = routeOf('functions');

const ALL = '/v1/functions/{name}/bulk';
const ONE = `${ALL}/{bulk}`;

export const bulkRoutes: Route[] = [
  route('createBulk', 'post', ALL, {
    scope: 'sandboxes:write',
    summary: 'Replay, redrive or cancel many runs of a function, each once',
    description:
      'Of runs that were accepted before. It goes on until it is over or cancelled, whoever dies; its counts are read from where Location says.',
    in: { params: functionParams, headers: keyHeaders, body: bulkBody },
    out: { 202: json('It is written down, and begins', bulkAnswer) },
    problems: ['function_not_found', 'too_many_requests'],
    location: ({ function: name, id }) => `/v1/functions/${name}/bulk/${id}`,
    handle: async ({ c, deps, params: { name }, body }) => {
      await requireFunction(deps, name);
      const wished = newBulk(c, name, body);
      const { bulk, isNew } = await recordBulk(deps, wished);
      const { id: bulkId, project } = bulk;
      if (isNew)
        await deps.sagas.functions.startBulk({ bulkId, project, function: name }).catch(logDelayedStart(deps, bulkId));
      return reply(202, bulk, !isNew);
    },
  }),
  route('getBulk', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read how far an action on many runs is',
    in: { params: bulkParams },
    out: { 200: json('It', bulkAnswer) },
    problems: ['bulk_not_found'],
    handle: async ({ deps, params }) => await requireBulk(deps, params),
  }),
  route('cancelBulk', 'post', `${ONE}/cancel`, {
    scope: 'sandboxes:write',
    summary: 'Have an action on many runs end; what it has done stays',
    in: { params: bulkParams },
    out: { 200: json('It is over, or ends with the runs that it is at', bulkAnswer) },
    problems: ['bulk_not_found'],
    handle: async ({ deps, store, params }) => {
      const { id } = await requireBulk(deps, params);
      await store.bulks.cancel(id, new Date().toISOString());
      return requireBulk(deps, params);
    },
  }),
];

function newBulk(c: Context<Env>, name: string, { action, version, filter }: z.output<typeof bulkBody>): BulkRecord {
  const at = new Date().toISOString();
  const apiKey = c.get('apiKey');
  const key = c.req.header('idempotency-key');
  const { key: value, ...rest } = filter;
  const named = key === undefined ? randomBytes(ID_BYTES) : idOfKey(`${apiKey.id}/bulk/${key}`);
  return {
    id: bulkIdFrom(named),
    project: apiKey.project,
    function: name,
    action,
    version: version ?? (action === 'redrive' ? 'current' : 'same'),
    filter: { ...rest, ...(value !== undefined && { keys: parseKey(value) }) },
    state: 'running',
    counts: { done: 0, unchanged: 0, refused: 0 },
    refusals: [],
    pages: 0,
    place: { list: 0, cursor: null },
    digest: sha256(JSON.stringify([name, action, version, filter])),
    createdBy: actorOf(c),
    createdAt: at,
    updatedAt: at,
    endedAt: null,
  };
}

function idOfKey(text: string): Uint8Array {
  return createHash('sha256').update(text).digest().subarray(0, ID_BYTES);
}

/** @throws MayflyError too_many_requests, idempotency_key_reused */
async function recordBulk({ store }: RequestDeps, wished: BulkRecord): Promise<{ bulk: BulkRecord; isNew: boolean }> {
  const present = await store.bulks.get(wished.id);
  const { open } = LIMITS.functions.bulk;
  if (!present && (await store.bulks.openOf(wished.function)) >= open) {
    const message = `${open} bulk actions of ${wished.function} are not over.`;
    throw new MayflyError('too_many_requests', message, { retryAfterSeconds: 10 });
  }
  if (!present && (await store.bulks.create(wished))) return { bulk: wished, isNew: true };
  const found = present ?? (await store.bulks.get(wished.id));
  if (found?.digest === wished.digest) return { bulk: found, isNew: false };
  throw new MayflyError('idempotency_key_reused', `${wished.id} is another bulk action with that key.`);
}

/** Logs the error: the bulk action is recorded, and a poll starts it later. */
function logDelayedStart({ logger }: RequestDeps, bulkId: string) {
  return (error: unknown) => logger.info({ err: error, bulkId }, 'a bulk action is begun when Temporal is back');
}

/** @throws MayflyError bulk_not_found */
async function requireBulk(
  { store }: Pick<RequestDeps, 'store'>,
  { name, bulk: id }: { name: string; bulk: string },
): Promise<BulkRecord> {
  const found = await store.bulks.get(id);
  return orThrow(found?.function === name && found, 'bulk_not_found', `${name} has no bulk action ${id}.`);
}
