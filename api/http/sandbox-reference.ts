import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { isAuditSubject } from '../../model/ids.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { assertNotReserved } from '../../services/sandboxes/reserved-sandbox.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import type { Env, RequestDeps } from './context.ts';

/** Index of the id among the segments of a sandbox's path. */
const SEGMENT = 3;

/**
 * Resolves the name of a sandbox in a path to its id, and refuses sandboxes of other projects and reserved ones.
 * Handlers get only ids of the caller's project.
 * @throws MayflyError sandbox_not_found, sandbox_not_running
 */
export async function resolveSandboxId(c: Context<Env>, reference: string): Promise<string> {
  const { store } = c.get('deps');
  if (isAuditSubject(reference)) {
    await requireOwn(c, reference);
    return reference;
  }
  const found = await requireNamed(store, reference);
  c.set('pathById', c.req.path.split('/').with(SEGMENT, found.id).join('/'));
  await assertNotReserved({ store }, found, c.req);
  return found.id;
}

/** Replaces the name of a sandbox in a query by its id. @throws MayflyError sandbox_not_found */
export async function sandboxIdOf(store: RequestDeps['store'], text: string): Promise<string> {
  return isAuditSubject(text) ? text : (await requireNamed(store, text)).id;
}

/** @throws MayflyError sandbox_not_found */
async function requireNamed({ sandboxes }: RequestDeps['store'], text: string): Promise<SandboxRecord> {
  const named = await sandboxes.named(text);
  if (named) return named;
  const why = `No sandbox that lives is named ${text}. One that has ended has given its name back: use its id.`;
  throw new MayflyError('sandbox_not_found', why);
}

/**
 * Requires a sandbox of the caller's project. Operators may delete one whose record is lost.
 * @throws MayflyError sandbox_not_found, sandbox_not_running
 */
async function requireOwn(c: Context<Env>, id: string): Promise<void> {
  const { store } = c.get('deps');
  const mayBeLost = c.req.method === 'DELETE' && store.viewer.isOperator;
  const found = mayBeLost ? await store.sandboxes.get(id) : await requireSandbox({ store }, id);
  if (!found) return;
  await assertNotReserved({ store }, found, c.req);
  if (!mayBeLost) c.set('found', found);
}
