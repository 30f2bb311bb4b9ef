import { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import { formatUnmaskedWarning, type SecretRecord, secretName, secretRecord } from '../../model/secrets/secret.ts';
import { deleteSecret, putSecret as put, requireSecret } from '../../services/secrets/put-secret.ts';
import type { SecretUsed } from '../../store/secrets/secret-uses.ts';
import { actorOf } from '../http/context.ts';
import { type Route, reply, routeOf } from '../http/route.ts';
import { instant, json, listOf } from '../http/schemas.ts';

const { secrets: limits } = LIMITS.functions;

const secretParams = z.strictObject({ name: secretName });

const putSecret = z
  .strictObject({
    value: z
      .string()
      .min(1)
      .max(limits.bytes)
      .refine((value) => Buffer.byteLength(value) <= limits.bytes, `has more than ${limits.bytes} bytes`)
      .refine((value) => !value.includes('\0'), 'has a NUL character')
      .refine((value) => Buffer.from(value).toString() === value, 'is no well-formed text')
      .openapi({ format: 'password', description: 'It is never answered' }),
  })
  .openapi('PutSecret');

const secretAnswer = secretRecord
  .omit({ valueId: true, notMasked: true, versions: true })
  .extend({
    isMasked: z.boolean().openapi({ description: 'Whether `***` stands in its place in what its functions print' }),
    warnings: z.array(z.string()).openapi({ description: 'Why it is not masked' }),
  })
  .openapi('Secret');

const secretDetail = secretAnswer
  .extend({
    versions: secretRecord.shape.versions.meta({
      description: `The newest first, at most ${limits.versions}. Only the newest has a value`,
    }),
    uses: z
      .array(z.object({ version: z.int(), runId: z.string(), attempt: z.int(), at: instant }))
      .openapi({ description: `Which run was given which version: the newest first, at most ${limits.uses}` }),
  })
  .openapi('SecretDetail');

function secretView(record: SecretRecord): z.infer<typeof secretAnswer> {
  const { project, name, version, notMasked, createdAt, updatedAt } = record;
  const warnings = notMasked === null ? [] : [formatUnmaskedWarning(name, notMasked)];
  return { project, name, version, isMasked: notMasked === null, warnings, createdAt, updatedAt };
}

function secretDetailView(record: SecretRecord, uses: SecretUsed[]): z.infer<typeof secretDetail> {
  return { ...secretView(record), versions: record.versions, uses };
}

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
