import type { Context } from 'hono';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { requireSandbox } from '../../services/require.ts';
import type { Env, RequestDeps } from '../http/context.ts';

/** That of the path, as it was found when the request was complete. @throws MayflyError sandbox_not_found */
export async function sandboxOfPath(
  c: Context<Env>,
  deps: Pick<RequestDeps, 'store'>,
  id: string,
): Promise<SandboxRecord> {
  return c.get('found') ?? requireSandbox(deps, id);
}
