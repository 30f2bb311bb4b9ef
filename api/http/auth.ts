import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { MayflyError } from '../../model/errors.ts';
import { DEFAULT_PROJECT } from '../../model/project.ts';
import type { OwnedActor } from '../../model/sandbox/sandbox.ts';
import type { Scope } from '../../model/scopes.ts';
import { grants } from '../../model/scopes.ts';
import type { ApiKey } from '../../store/access/api-keys.ts';
import { storeOf } from '../../store/project-store.ts';
import type { PoolDoor } from '../claims/pool-door.ts';
import type { AppDeps, Env } from './context.ts';

/** The page and its parts. */
const DOCS = ['/docs', '/docs/page.js', '/docs/page.css', '/docs/swagger-ui.js', '/docs/swagger-ui.css'];
/** The only paths that answer without a key. */
const APPROVALS = ['/approvals', '/approvals/page.js', '/approvals/page.css'];
const RECEIPT_KEYS = '/v1/receipt-keys';
const OPEN_PATHS = new Set(['/healthz', '/readyz', '/openapi.json', RECEIPT_KEYS, ...DOCS, ...APPROVALS]);
/** Where signed events from outside come in. */
const HOOK_DOOR = /^\/h\/[^/]+$/;
/** Where a waitpoint is completed: its token is in the path. */
const WAITPOINT_DOOR = /^\/v1\/waitpoints\/[^/]+$/;
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Lets only holders of a valid key pass, and gives them the store as their project sees it. Keys are read from the store
 * each time, so a revoked one ends at once.
 * @throws MayflyError unauthenticated
 */
export function authenticate(deps: AppDeps, poolDoor: PoolDoor) {
  const { store } = deps;
  return createMiddleware<Env>(async (c, next) => {
    if (isOpen(c.req.path)) return next();
    const presented = presentedKey(c);
    if (!presented) throw new MayflyError('unauthenticated', 'The request carries no API key.');
    const apiKey = await store.apiKeys.authenticate(presented);
    if (!apiKey || !(await isOfProject(store, apiKey))) {
      throw new MayflyError('unauthenticated', 'The API key is not valid, or was revoked.');
    }
    const viewer = { project: apiKey.project, isOperator: grants(apiKey.scopes, 'operator') };
    c.set('apiKey', apiKey);
    c.set('deps', { ...deps, poolDoor, store: storeOf(store, viewer) });
    return next();
  });
}

function isOpen(path: string): boolean {
  return OPEN_PATHS.has(path) || HOOK_DOOR.test(path) || WAITPOINT_DOOR.test(path);
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
export function actorOf(c: Context<Env>, agentId: string | null = null): OwnedActor {
  const { id, project } = c.get('apiKey');
  const approvalId = c.get('approvalId');
  return { apiKeyId: id, agentId, project, ...(approvalId !== undefined && { approvalId }) };
}
