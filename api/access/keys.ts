import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { grants, SCOPES, type Scope } from '../../model/scopes.ts';
import { apiKeyIdFrom } from '../../store/access/api-keys.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { requires } from '../http/auth.ts';
import { type App, type Env, serialised } from '../http/context.ts';
import { answerOnce, isHeard } from '../http/idempotency.ts';
import { BODY, KEYED, problems } from '../http/problem-answers.ts';
import { json, keyHeaders, noQuery, pageOf } from '../http/schemas.ts';
import { requireProject } from '../projects/require-project.ts';
import { createKey, limitKey } from './key-schemas.ts';

const PATH = '/v1/keys';
const tags = ['keys'];
const middleware = [requires('admin')];

const keyParams = z.strictObject({ id: z.string().regex(/^[0-9a-f]{12}$/) });

const keyAnswer = z
  .object({
    id: z.string(),
    project: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    createdAt: z.string(),
    revokedAt: z.string().nullable(),
    diskBytes: z.number().nullable(),
    sandboxDiskBytes: z.number().nullable(),
  })
  .openapi('ApiKey');

const createOne = createRoute({
  method: 'post',
  path: PATH,
  tags,
  middleware,
  operationId: 'createKey',
  summary: 'Make an API key; its secret is in this answer and nowhere else',
  description:
    'The same Idempotency-Key is the same API key, but no secret is kept: a repeated request is answered with a new ' +
    'one, and the one before it, which was lost or is not wanted, is refused from then on.',
  request: {
    query: noQuery,
    headers: keyHeaders,
    body: { required: true, content: { 'application/json': { schema: createKey } } },
  },
  responses: {
    201: json('The key', keyAnswer.extend({ secret: z.string() }).openapi('NewApiKey')),
    ...problems(BODY, KEYED, 'stale_attempt', 'project_not_found'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: PATH,
  tags,
  middleware,
  operationId: 'listKeys',
  summary: 'List the API keys of the project, also revoked ones; for operators, of all',
  request: { query: noQuery },
  responses: { 200: json('All keys', pageOf(keyAnswer)), ...problems() },
});

const revokeOne = createRoute({
  method: 'delete',
  path: `${PATH}/{id}`,
  tags,
  middleware,
  operationId: 'revokeKey',
  summary: 'Revoke an API key, from the next request on',
  description:
    'One operator key stays: the last is not revoked, nor are two that revoke each other at the same time. The key that ' +
    '`mayfly up` makes for its run ends with it, and so does not count as one that stays.',
  request: { query: noQuery, params: keyParams },
  responses: { 200: json('The revoked key', keyAnswer), ...problems('not_found', 'last_admin_key') },
});

const limitOne = createRoute({
  method: 'patch',
  path: `${PATH}/{id}`,
  tags,
  middleware,
  operationId: 'updateKey',
  summary: 'Change how much the sandboxes and snapshots of an API key may store',
  description:
    '`diskBytes`: all sandboxes that it made and all snapshots that it took. `sandboxDiskBytes`: each of its sandboxes ' +
    'with its snapshots. What is not named stays; null lifts a limit. Sandboxes that wait for room go on in seconds.',
  request: {
    query: noQuery,
    params: keyParams,
    body: { required: true, content: { 'application/json': { schema: limitKey } } },
  },
  responses: { 200: json('The key', keyAnswer), ...problems(BODY, 'not_found') },
});

export function keyRoutes(app: App): void {
  app.openapi(createOne, async (c) => {
    const request = c.req.valid('json');
    const { name, scopes, project = c.get('apiKey').project, diskBytes = null, sandboxDiskBytes = null } = request;
    await refuseMore(c, project, scopes);
    const asked = { idFrom: apiKeyIdFrom, key: c.req.valid('header')['idempotency-key'], body: request };
    return serialised(
      await answerOnce(c, c.get('deps').store, asked, async ({ subjectId, isFresh }) => {
        const wish = { project, name, scopes, diskBytes, sandboxDiskBytes };
        // The first attempt may be later than the one that was sent when it was not answered: that one's secret is in use.
        if (!isHeard(c)) throw new MayflyError('stale_attempt', 'Nobody waits for this answer any more.');
        const made = isFresh
          ? await c.get('deps').store.apiKeys.create(wish, subjectId)
          : await c.get('deps').store.apiKeys.ensure(subjectId, wish);
        if (!made) throw new MayflyError('idempotency_key_reused', `The API key ${subjectId} that it made is revoked.`);
        c.header('Cache-Control', 'no-store');
        return { response: c.json({ ...made.key, secret: made.secret }, 201), isKept: false };
      }),
    );
  });
  app.openapi(listAll, async (c) => c.json({ items: await c.get('deps').store.apiKeys.list(), nextCursor: null }, 200));
  app.openapi(revokeOne, async (c) => {
    const { id } = c.req.valid('param');
    const revoked = await c.get('deps').store.apiKeys.revokeUnlessLast(id);
    if (!revoked) throw new MayflyError('not_found', `There is no API key ${id}.`);
    await awaitCacheExpiry(); // open ports go by it
    return c.json(revoked, 200);
  });
  app.openapi(limitOne, async (c) => {
    const { id } = c.req.valid('param');
    const { diskBytes, sandboxDiskBytes } = c.req.valid('json');
    const quota = {
      ...(diskBytes !== undefined && { diskBytes }),
      ...(sandboxDiskBytes !== undefined && { sandboxDiskBytes }),
    };
    const limited = await c.get('deps').store.apiKeys.limit(id, quota);
    if (!limited) throw new MayflyError('not_found', `There is no API key ${id}.`);
    return c.json(limited, 200);
  });
}

/** Nobody gives more than he has. @throws MayflyError forbidden, project_not_found */
async function refuseMore(c: Context<Env>, project: string, scopes: readonly Scope[]): Promise<void> {
  const { id, project: own, scopes: held } = c.get('apiKey');
  const more = scopes.find((scope) => !grants(held, scope));
  if (more) throw new MayflyError('forbidden', `The API key ${id} lacks the scope \`${more}\`, and cannot give it.`);
  if (project !== own && !grants(held, 'operator')) {
    throw new MayflyError(
      'forbidden',
      `The API key ${id} lacks the scope \`operator\`, and gives keys of its own project.`,
    );
  }
  await requireProject(c.get('deps'), project);
}
