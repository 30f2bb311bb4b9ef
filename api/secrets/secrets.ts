import { createRoute } from '@hono/zod-openapi';
import { actorOf, requires } from '../http/auth.ts';
import type { App } from '../http/context.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { json, listOf, noQuery } from '../http/schemas.ts';
import { deleteSecret, putSecret as put, requireSecret } from './put-secret.ts';
import { putSecret, secretAnswer, secretDetail, secretDetailView, secretParams, secretView } from './secret-schemas.ts';

const ALL = '/v1/secrets';
const ONE = '/v1/secrets/{name}';
const tags = ['functions'];
const one = { path: ONE, tags, request: { params: secretParams, query: noQuery } } as const;

const putOne = createRoute({
  ...one,
  method: 'put',
  operationId: 'putSecret',
  summary: 'Put a secret, or another value in its place',
  description:
    'Attempts that begin from now on are given it, in the functions that name it. `warnings` say when it is not masked in what they print (docs/secrets.md).',
  middleware: [requires('admin')],
  request: { ...one.request, body: { required: true, content: { 'application/json': { schema: putSecret } } } },
  responses: {
    200: json('It is the newest version', secretAnswer),
    201: json('It is the first', secretAnswer),
    ...problems(BODY, 'secrets_full'),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listSecrets',
  summary: 'List the secrets of the project by name, without what they are',
  middleware: [requires('sandboxes:read')],
  request: { query: noQuery },
  responses: { 200: json('All of them', listOf(secretAnswer)), ...problems() },
});

const getOne = createRoute({
  ...one,
  method: 'get',
  operationId: 'getSecret',
  summary: 'Read the versions of a secret, and which runs used which; never what it is',
  middleware: [requires('sandboxes:read')],
  responses: { 200: json('The secret', secretDetail), ...problems('secret_not_found') },
});

const deleteOne = createRoute({
  ...one,
  method: 'delete',
  operationId: 'deleteSecret',
  summary: 'Delete a secret: runs whose function names it are not started any more',
  middleware: [requires('admin')],
  responses: { 204: { description: 'It is gone' }, ...problems('secret_not_found') },
});

export function secretRoutes(app: App): void {
  app.openapi(putOne, async (c) => {
    const { name } = c.req.valid('param');
    const { record, isNew } = await put(c.get('deps'), actorOf(c), name, c.req.valid('json').value);
    return c.json(secretView(record), isNew ? 201 : 200);
  });
  app.openapi(listAll, async (c) => c.json({ items: (await c.get('deps').store.secrets.list()).map(secretView) }, 200));
  app.openapi(getOne, async (c) => {
    const { name } = c.req.valid('param');
    const deps = c.get('deps');
    const record = await requireSecret(deps, name);
    return c.json(secretDetailView(record, await deps.store.secretUses.list(name)), 200);
  });
  app.openapi(deleteOne, async (c) => {
    await deleteSecret(c.get('deps'), c.req.valid('param').name);
    return c.body(null, 204);
  });
}
