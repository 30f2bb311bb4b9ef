import { createHash, randomBytes } from 'node:crypto';
import { createRoute, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { BulkRecord } from '../../model/functions/bulk.ts';
import { bulkIdFrom, ID_BYTES } from '../../model/ids.ts';
import { LIMITS } from '../../model/limits.ts';
import { sha256 } from '../acceptance/accept-event.ts';
import { functionParams } from '../functions/function-schemas.ts';
import { requireFunction } from '../functions/function-view.ts';
import { actorOf, requires } from '../http/auth.ts';
import type { App, Env, RequestDeps } from '../http/context.ts';
import { REPLAYED } from '../http/idempotency.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { json, keyHeaders, noQuery } from '../http/schemas.ts';
import { keysNamed } from '../runs/keys-named.ts';
import { bulkAnswer, bulkBody, bulkParams } from './bulk-schemas.ts';

const ALL = '/v1/functions/{name}/bulk';
const ONE = `${ALL}/{bulk}`;
const tags = ['functions'];

const startOne = createRoute({
  method: 'post',
  path: ALL,
  tags,
  operationId: 'startBulk',
  summary: 'Replay, redrive or cancel many runs of a function, each once',
  description:
    'Of runs that were accepted before. It goes on until it is over or cancelled, whoever dies; its counts are read from where Location says.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: functionParams,
    query: noQuery,
    headers: keyHeaders,
    body: { required: true, content: { 'application/json': { schema: bulkBody } } },
  },
  responses: {
    202: json('It is written down, and begins', bulkAnswer),
    ...problems(BODY, KEYED, 'function_not_found', 'too_many_requests'),
  },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getBulk',
  summary: 'Read how far an action on many runs is',
  middleware: [requires('sandboxes:read')],
  request: { params: bulkParams, query: noQuery },
  responses: { 200: json('It', bulkAnswer), ...problems('bulk_not_found') },
});

const cancelOne = createRoute({
  method: 'post',
  path: `${ONE}/cancel`,
  tags,
  operationId: 'cancelBulk',
  summary: 'Have an action on many runs end; what it has done stays',
  middleware: [requires('sandboxes:write')],
  request: { params: bulkParams, query: noQuery },
  responses: {
    200: json('It is over, or ends with the runs that it is at', bulkAnswer),
    ...problems('bulk_not_found'),
  },
});

export function bulkRoutes(app: App): void {
  app.openapi(startOne, async (c) => {
    const deps = c.get('deps');
    const { name } = c.req.valid('param');
    await requireFunction(deps, name);
    const wished = wishedBulk(c, name, c.req.valid('json'), c.req.valid('header')['idempotency-key']);
    const { bulk, isNew } = await recorded(deps, wished);
    const { id: bulkId, project } = bulk;
    if (isNew) await deps.sagas.startBulk({ bulkId, project, function: name }).catch(isBegunLater(deps, bulkId));
    else c.header(REPLAYED, 'true');
    c.header('Location', `/v1/functions/${name}/bulk/${bulkId}`);
    return c.json(bulkView(bulk), 202);
  });
  app.openapi(getOne, async (c) => c.json(bulkView(await requireBulk(c.get('deps'), c.req.valid('param'))), 200));
  app.openapi(cancelOne, async (c) => {
    const deps = c.get('deps');
    const { id } = await requireBulk(deps, c.req.valid('param'));
    await deps.store.bulks.cancel(id, new Date().toISOString());
    return c.json(bulkView(await requireBulk(deps, c.req.valid('param'))), 200);
  });
}

function wishedBulk(
  c: Context<Env>,
  name: string,
  { action, version, filter }: z.output<typeof bulkBody>,
  key: string | undefined,
): BulkRecord {
  const at = new Date().toISOString();
  const apiKey = c.get('apiKey');
  const { key: value, ...rest } = filter;
  const named = key === undefined ? randomBytes(ID_BYTES) : idOfKey(`${apiKey.id}/bulk/${key}`);
  return {
    id: bulkIdFrom(named),
    project: apiKey.project,
    function: name,
    action,
    version: version ?? (action === 'redrive' ? 'current' : 'same'),
    filter: { ...rest, ...(value !== undefined && { keys: keysNamed(value) }) },
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
async function recorded({ store }: RequestDeps, wished: BulkRecord): Promise<{ bulk: BulkRecord; isNew: boolean }> {
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

/** It is on disk: whoever looks after queues begins it. */
function isBegunLater({ logger }: RequestDeps, bulkId: string) {
  return (error: unknown) => logger.info({ err: error, bulkId }, 'a bulk action is begun when Temporal is back');
}

/** @throws MayflyError bulk_not_found */
async function requireBulk(
  { store }: Pick<RequestDeps, 'store'>,
  { name, bulk: id }: { name: string; bulk: string },
): Promise<BulkRecord> {
  const found = await store.bulks.get(id);
  if (found?.function === name) return found;
  throw new MayflyError('bulk_not_found', `${name} has no bulk action ${id}.`);
}

function bulkView(bulk: BulkRecord): z.infer<typeof bulkAnswer> {
  const { filter: _filter, pages: _pages, place: _place, page: _page, digest: _digest, ...shown } = bulk;
  return shown;
}
