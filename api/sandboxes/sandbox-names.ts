import type { Context, MiddlewareHandler, Next } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { grants } from '../../model/scopes.ts';
import type { App, Env, RequestDeps } from '../http/context.ts';
import { type Attempt, freeRequest } from '../http/idempotency.ts';
import { addProblem } from '../http/problem-answers.ts';
import { requireSandbox } from '../resources/require-sandbox.ts';
import { canBeReserved, refuseReserved } from './reserved-sandbox.ts';

/** Where a route has the id of a sandbox. */
const IN_PATH = '/v1/sandboxes/{id}';
const IN_QUERY = '/v1/audit';
/** Of the id, between the slashes of such a path. */
const SEGMENT = 3;

interface Given {
  param?: { id: string };
  query?: { sandboxId: string };
}

/**
 * Has every route that takes the id of a sandbox take its name too, and refuses what the caller's project does not have:
 * whatever is behind this sees ids of its own sandboxes only, and all that is read by them is its own. Both are looked up
 * when the key was found to have the scope of the route, and the request to be valid. Call it before routes are added.
 */
export function resolveSandboxes(app: App): void {
  const register = app.openapi;
  const resolving = (handler: MiddlewareHandler<Env>) => async (c: Context<Env>, next: Next) => {
    await resolve(c);
    return handler(c, next);
  };
  app.openapi = ((route, handler, hook) => {
    const takesId = route.path.startsWith(IN_PATH) || route.path === IN_QUERY;
    if (!takesId) return register(route, handler, hook);
    if (canBeReserved({ ...route, method: route.method.toUpperCase() })) addProblem(route, 'sandbox_not_running');
    return register(route, resolving(handler as MiddlewareHandler<Env>) as typeof handler, hook);
  }) as typeof register;
}

/** @throws MayflyError sandbox_not_found, sandbox_not_running */
async function resolve(c: Context<Env>): Promise<void> {
  const { store } = c.get('deps');
  const valid = (part: keyof Given) => c.req.valid(part as never) as Given;
  if (c.req.path === IN_QUERY) {
    const query = valid('query') as NonNullable<Given['query']>;
    const named = isAuditSubject(query.sandboxId) ? null : await requireNamed(store, query.sandboxId);
    c.req.addValidatedData('query', { ...query, sandboxId: named?.id ?? query.sandboxId });
    return;
  }
  const param = valid('param') as NonNullable<Given['param']>;
  if (isAuditSubject(param.id)) return requireOwn(c, param.id);
  const found = await requireNamed(store, param.id);
  c.req.addValidatedData('param', { ...param, id: found.id });
  c.set('pathById', c.req.path.split('/').with(SEGMENT, found.id).join('/'));
  await refuseReserved({ store }, found, c.req);
}

/** @throws MayflyError sandbox_not_found */
async function requireNamed({ sandboxes }: RequestDeps['store'], text: string): Promise<SandboxRecord> {
  const named = await sandboxes.named(text);
  if (named) return named;
  const why = `No sandbox that lives is named ${text}. One that has ended has given its name back: use its id.`;
  throw new MayflyError('sandbox_not_found', why);
}

/** An operator may end one whose record is lost. @throws MayflyError sandbox_not_found, sandbox_not_running */
async function requireOwn(c: Context<Env>, id: string): Promise<void> {
  const { store } = c.get('deps');
  const mayBeLost = c.req.method === 'DELETE' && store.viewer.isOperator;
  const found = mayBeLost ? await store.sandboxes.get(id) : await requireSandbox({ store }, id);
  if (!found) return;
  await refuseReserved({ store }, found, c.req);
  if (!mayBeLost) c.set('found', found);
}

/** Spares a saga that would be refused. @param id of who asks @throws MayflyError name_taken */
export async function refuseTakenName({ store }: Pick<RequestDeps, 'store'>, id: string, name: string): Promise<void> {
  const holder = await store.sandboxes.named(name);
  if (holder && holder.id !== id) throw new MayflyError('name_taken', `Another sandbox that lives is named ${name}.`);
}

/**
 * Makes a sandbox that may be refused its name. Then its Idempotency-Key is free: nothing was made.
 * @throws MayflyError name_taken, which says who has it to whoever may read that; what `make` throws
 */
export async function tellingWhoHasIt<T>(
  c: Context<Env>,
  { store }: Pick<RequestDeps, 'store'>,
  attempt: Attempt,
  name: string | undefined,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await make();
  } catch (error) {
    const isRefused = isMayflyError(error, 'name_taken') && name !== undefined;
    if (!isRefused) throw error;
    if (attempt.isFresh) await freeRequest(store, attempt);
    const holder = grants(c.get('apiKey').scopes, 'sandboxes:read') ? await store.sandboxes.named(name) : null;
    if (!holder) throw error;
    throw new MayflyError('name_taken', `${holder.id}, which is ${holder.state}, is named ${name}.`, { cause: error });
  }
}
