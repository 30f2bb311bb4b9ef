import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { isProjectId, PROJECT_ID_PATTERN } from '../../model/project.ts';
import { printable } from '../../model/request-fields.ts';
import { grants, SCOPES, type Scope } from '../../model/scopes.ts';
import { orThrow, requireProject } from '../../services/service-deps.ts';
import { apiKeyIdFrom } from '../../store/access/api-keys.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Env } from '../http/context.ts';
import { type Route, routeOf } from '../http/route.ts';
import { json, keyHeaders, pageOf } from '../http/schemas.ts';
import { answerOnce, isClientConnected, keep } from '../idempotency/answer-once.ts';

const quotaBytes = z
  .number()
  .int()
  .min(LIMITS.quotaBytes.min)
  .max(LIMITS.quotaBytes.max)
  .nullable()
  .openapi({ description: 'Bytes; null: no limit' });
const quotaFields = { diskBytes: quotaBytes.optional(), sandboxDiskBytes: quotaBytes.optional() };

const createKey = z
  .strictObject({
    name: printable(128),
    project: z
      .string()
      .refine(isProjectId, 'is not a project id')
      .optional()
      .openapi({ pattern: PROJECT_ID_PATTERN, description: 'Only operators name another than their own' }),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
    ...quotaFields,
  })
  .openapi('CreateKey');

const limitKey = z
  .strictObject(quotaFields)
  .refine((quota) => Object.keys(quota).length > 0, { message: 'must change something' })
  .openapi('LimitKey', { minProperties: 1 });

const route = routeOf('keys');

const PATH = '/v1/keys';

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

export const keyRoutes: Route[] = [
  route('createKey', 'post', PATH, {
    scope: 'admin',
    summary: 'Make an API key; its secret is in this answer and nowhere else',
    description:
      'The same Idempotency-Key is the same API key, but no secret is kept: a repeated request is answered with a new ' +
      'one, and the one before it, which was lost or is not wanted, is refused from then on.',
    in: { headers: keyHeaders, body: createKey },
    out: { 201: json('The key', keyAnswer.extend({ secret: z.string() }).openapi('NewApiKey')) },
    problems: ['stale_attempt', 'project_not_found'],
    handle: async ({ c, store, respond, body }) => {
      const { name, scopes, project = c.get('apiKey').project, diskBytes = null, sandboxDiskBytes = null } = body;
      await refuseMore(c, project, scopes);
      return answerOnce({ c, respond }, { idFrom: apiKeyIdFrom }, async ({ subjectId, isFresh }) => {
        const wish = { project, name, scopes, diskBytes, sandboxDiskBytes };
        // An abandoned attempt may run after its retry, whose secret the client uses already.
        if (!isClientConnected(c)) {
          throw new MayflyError('stale_attempt', 'Nobody waits for this answer any more.', { mayHaveBegun: true });
        }
        const made = isFresh
          ? await store.apiKeys.create(wish, subjectId)
          : await store.apiKeys.ensure(subjectId, wish);
        if (!made) throw new MayflyError('idempotency_key_reused', `The API key ${subjectId} that it made is revoked.`);
        c.header('Cache-Control', 'no-store');
        return keep({ ...made.key, secret: made.secret }, false);
      });
    },
  }),
  route('listKeys', 'get', PATH, {
    scope: 'admin',
    summary: 'List the API keys of the project, also revoked ones; for operators, of all',
    out: { 200: json('All keys', pageOf(keyAnswer)) },
    handle: async ({ store }) => ({ items: await store.apiKeys.list(), nextCursor: null }),
  }),
  route('deleteKey', 'delete', `${PATH}/{id}`, {
    scope: 'admin',
    summary: 'Revoke an API key, from the next request on',
    description:
      'One operator key stays: the last is not revoked, nor are two that revoke each other at the same time. The key that ' +
      '`mayfly up` makes for its run ends with it, and so does not count as one that stays.',
    in: { params: keyParams },
    out: { 200: json('The revoked key', keyAnswer) },
    problems: ['not_found', 'last_admin_key'],
    handle: async ({ store, params: { id } }) => {
      const revoked = orThrow(await store.apiKeys.revokeUnlessLast(id), 'not_found', `There is no API key ${id}.`);
      await awaitCacheExpiry(); // open ports depend on it
      return revoked;
    },
  }),
  route('updateKey', 'patch', `${PATH}/{id}`, {
    scope: 'admin',
    summary: 'Change how much the sandboxes and snapshots of an API key may store',
    description:
      '`diskBytes`: all sandboxes that it made and all snapshots that it took. `sandboxDiskBytes`: each of its sandboxes ' +
      'with its snapshots. What is not named stays; null lifts a limit. Sandboxes that wait for room go on in seconds.',
    in: { params: keyParams, body: limitKey },
    out: { 200: json('The key', keyAnswer) },
    problems: ['not_found'],
    handle: async ({ store, params: { id }, body: { diskBytes, sandboxDiskBytes } }) => {
      const quota = {
        ...(diskBytes !== undefined && { diskBytes }),
        ...(sandboxDiskBytes !== undefined && { sandboxDiskBytes }),
      };
      return orThrow(await store.apiKeys.limit(id, quota), 'not_found', `There is no API key ${id}.`);
    },
  }),
];

/**
 * Refuses scopes and projects beyond those of the caller's own key.
 * @throws MayflyError forbidden, project_not_found
 */
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
