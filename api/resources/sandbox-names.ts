import type { Context, MiddlewareHandler, Next } from 'hono';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { grants } from '../../model/scopes.ts';
import type { App, Env, RequestDeps } from '../http/context.ts';
import { isFilePath } from '../http/file-path.ts';
import { type Attempt, freeRequest } from '../http/idempotency.ts';
import { requireSandbox } from './require-sandbox.ts';

/** Where a route has the id of a sandbox. */
const IN_PATH = '/v1/sandboxes/{id}';
const IN_QUERY = '/v1/audit';
/** Of the id, between the slashes of such a path. */
const SEGMENT = 3;
/** What else than its files is of a guest. */
const IN_GUEST = /^\/v1\/sandboxes\/[^/]+\/(?:diff|ports|desktop)(?:\/|$)/;

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
    return register(route, takesId ? (resolving(handler as MiddlewareHandler<Env>) as typeof handler) : handler, hook);
  }) as typeof register;
}

/** @throws MayflyError sandbox_not_found */
async function resolve(c: Context<Env>): Promise<void> {
  const { store } = c.get('deps');
  const valid = (part: keyof Given) => c.req.valid(part as never) as Given;
  if (c.req.path === IN_QUERY) {
    const query = valid('query') as NonNullable<Given['query']>;
    c.req.addValidatedData('query', { ...query, sandboxId: await idOf(store, query.sandboxId) });
    return;
  }
  const param = valid('param') as NonNullable<Given['param']>;
  const id = await idOf(store, param.id);
  if (id === param.id) return requireOwn(c, id);
  c.req.addValidatedData('param', { ...param, id });
  c.set('pathById', c.req.path.split('/').with(SEGMENT, id).join('/'));
}

/** @throws MayflyError sandbox_not_found */
async function idOf({ sandboxes }: RequestDeps['store'], text: string): Promise<string> {
  if (isAuditSubject(text)) return text;
  const named = await sandboxes.named(text);
  if (named) return named.id;
  const why = `No sandbox that lives is named ${text}. One that has ended has given its name back: use its id.`;
  throw new MayflyError('sandbox_not_found', why);
}

/** An operator may end one whose record is lost. @throws MayflyError sandbox_not_found */
async function requireOwn(c: Context<Env>, id: string): Promise<void> {
  const { store } = c.get('deps');
  const mayBeLost = c.req.method === 'DELETE' && store.viewer.isOperator;
  const found = mayBeLost ? await store.sandboxes.get(id) : await requireSandbox({ store }, id);
  if (!found) return;
  refuseBuilder(found, c.req);
  await refuseSecrets({ store }, found, c.req);
  if (!mayBeLost) c.set('found', found);
}

/** What a build makes is what its steps make. Who may looks at it, and ends it. @throws MayflyError sandbox_not_running */
function refuseBuilder({ id, builds }: SandboxRecord, { method, path }: { method: string; path: string }): void {
  const isChange = method === 'POST' || method === 'PUT' || (method === 'DELETE' && isFilePath(path));
  if (!builds || !isChange) return;
  const what = {
    image: 'an image is built',
    source: 'a source is built',
    playbook: 'a playbook is tried',
    run: 'a function runs',
  }[builds];
  throw new MayflyError('sandbox_not_running', `${id} is where ${what}: nothing else is done there.`);
}

/** What is read in the guest of a run is not masked. @throws MayflyError sandbox_not_running */
async function refuseSecrets(
  { store }: Pick<RequestDeps, 'store'>,
  { id, builds, spec }: SandboxRecord,
  { path }: { path: string },
): Promise<void> {
  if (builds !== 'run' || !(isFilePath(path) || IN_GUEST.test(path))) return;
  const run = await store.runs.get(spec.metadata['run'] ?? '');
  const attempt = run?.attempts.find(({ sandboxId }) => sandboxId === id);
  if (attempt && attempt.secrets.length === 0) return;
  throw new MayflyError('sandbox_not_running', `${id} is where a function runs that was given secrets.`);
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
