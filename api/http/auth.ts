import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { ApiKey } from '../../model/access/api-key.ts';
import { MayflyError } from '../../model/errors.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { Scope } from '../../model/scopes.ts';
import { grants } from '../../model/scopes.ts';
import { storeOf } from '../../store/project-store.ts';
import type { App, AppDeps, Env, RequestDeps } from './context.ts';

/** Marks a route that takes no key. */
export const open = createMiddleware<Env>((_c, next) => next());

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Lets only holders of a valid key pass but to open paths, and gives them the store as their project sees it. Keys are read
 * from the store each time, so a revoked one ends at once.
 * @throws MayflyError unauthenticated
 */
export function authenticate(app: App, deps: Omit<RequestDeps, 'store'> & Pick<AppDeps, 'store'>) {
  const { store } = deps;
  let openPaths: RegExp[] | undefined;
  return createMiddleware<Env>(async (c, next) => {
    c.set('wholeStore', store);
    openPaths ??= openPathsOf(app);
    if (openPaths.some((path) => path.test(c.req.path))) return next();
    const presented = presentedKey(c);
    if (!presented) throw new MayflyError('unauthenticated', 'The request carries no API key.');
    const apiKey = await store.apiKeys.authenticate(presented);
    if (!apiKey || !(await isOfProject(store, apiKey))) {
      throw new MayflyError('unauthenticated', 'The API key is not valid, or was revoked.');
    }
    const viewer = { project: apiKey.project, isOperator: grants(apiKey.scopes, 'operator') };
    c.set('apiKey', apiKey);
    c.set('deps', { ...deps, store: storeOf(store, viewer) });
    return next();
  });
}

function openPathsOf({ routes }: App): RegExp[] {
  const paths = routes.filter(({ handler }) => handler === open).map(({ path }) => path.replaceAll('.', '\\.'));
  return [...new Set(paths)].map((path) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`));
}

/** The API key that a request carries, whether it is one or not. */
export function presentedKey(c: Context<Env>): string | undefined {
  return BEARER.exec(c.req.header('Authorization') ?? '')?.[1] ?? c.req.header('X-API-Key');
}

/** Whether there is its project still. */
async function isOfProject({ projects }: AppDeps['store'], { project }: ApiKey): Promise<boolean> {
  return project === DEFAULT_PROJECT || (await projects.lately(project)) !== null;
}

/** @throws MayflyError forbidden */
export function requires(scope: Scope) {
  return createMiddleware<Env>(async (c, next) => {
    if (!grants(c.get('apiKey').scopes, scope)) {
      throw new MayflyError('forbidden', `The API key ${c.get('apiKey').id} lacks the scope \`${scope}\`.`);
    }
    return next();
  });
}

/** Who asks, as it is recorded. */
export function actorOf(c: Context<Env>, agentId: string | null = null): Actor {
  const { id, project } = c.get('apiKey');
  const approvalId = c.get('call')?.approvalId ?? null;
  return { apiKeyId: id, agentId, project, ...(approvalId !== null && { approvalId }) };
}
