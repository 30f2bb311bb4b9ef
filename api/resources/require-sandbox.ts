import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Env, RequestDeps } from '../http/context.ts';

/** @throws MayflyError sandbox_not_found */
export async function requireSandbox({ store }: Pick<RequestDeps, 'store'>, id: string): Promise<SandboxRecord> {
  const record = await store.sandboxes.get(id);
  if (record) return record;
  throw new MayflyError('sandbox_not_found', `There is no sandbox ${id}.`);
}

/** That of the path, as it was found when the request was complete. @throws MayflyError sandbox_not_found */
export async function sandboxOfPath(
  c: Context<Env>,
  deps: Pick<RequestDeps, 'store'>,
  id: string,
): Promise<SandboxRecord> {
  return c.get('found') ?? requireSandbox(deps, id);
}
