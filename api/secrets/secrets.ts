import { deleteSecret, putSecret as put, requireSecret } from '../../services/secrets/put-secret.ts';
import { actorOf } from '../http/auth.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { json, listOf } from '../http/schemas.ts';
import { putSecret, secretAnswer, secretDetail, secretDetailView, secretParams, secretView } from './secret-schemas.ts';

const route = routeOf('functions');

const ALL = '/v1/secrets';
const ONE = '/v1/secrets/{name}';

export const secretRoutes: Route[] = [
  route('putSecret', 'put', ONE, {
    scope: 'admin',
    summary: 'Put a secret, or another value in its place',
    description:
      'Attempts that begin from now on are given it, in the functions that name it. `warnings` say when it is not masked in what they print (docs/secrets.md).',
    in: { params: secretParams, body: putSecret },
    out: { 200: json('It is the newest version', secretAnswer), 201: json('It is the first', secretAnswer) },
    problems: ['secrets_full'],
    handle: async ({ c, deps, params: { name }, body }) => {
      const { record, isNew } = await put(deps, actorOf(c), name, body.value);
      return reply(isNew ? 201 : 200, secretView(record));
    },
  }),
  route('listSecrets', 'get', ALL, {
    scope: 'sandboxes:read',
    summary: 'List the secrets of the project by name, without what they are',
    out: { 200: json('All of them', listOf(secretAnswer)) },
    handle: async ({ store }) => ({ items: (await store.secrets.list()).map(secretView) }),
  }),
  route('getSecret', 'get', ONE, {
    scope: 'sandboxes:read',
    summary: 'Read the versions of a secret, and which runs used which; never what it is',
    in: { params: secretParams },
    out: { 200: json('The secret', secretDetail) },
    problems: ['secret_not_found'],
    handle: async ({ deps, store, params: { name } }) => {
      const record = await requireSecret(deps, name);
      return secretDetailView(record, await store.secretUses.list(name));
    },
  }),
  route('deleteSecret', 'delete', ONE, {
    scope: 'admin',
    summary: 'Delete a secret: runs whose function names it are not started any more',
    in: { params: secretParams },
    out: { 204: { description: 'It is gone' } },
    problems: ['secret_not_found'],
    handle: async ({ deps, params }) => {
      await deleteSecret(deps, params.name);
    },
  }),
];
