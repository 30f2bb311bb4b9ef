import type { Context } from 'hono';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { AwakeSandbox } from '../../services/desktop/screens.ts';
import { ensureRunning } from '../../services/sandboxes/awake-sandbox.ts';
import { requireSandbox } from '../../services/service-deps.ts';
import { actorOf, type Env, preferenceOf, waitLimit } from '../http/context.ts';

/** Returns the sandbox of the path, read when the request was complete. @throws MayflyError sandbox_not_found */
export async function sandboxOfPath(c: Context<Env>, id: string): Promise<SandboxRecord> {
  return c.get('found') ?? requireSandbox(c.get('deps'), id);
}

/** Resumes a sleeping sandbox within the preferred wait, and marks it as active. @throws as {@link ensureRunning} */
export async function wakeAndTouch(c: Context<Env>, sandboxId: string): Promise<AwakeSandbox> {
  const deps = c.get('deps');
  const { seconds } = preferenceOf(c.req.header('prefer'));
  const { hostId } = await ensureRunning(deps, sandboxId, actorOf(c), waitLimit(c, seconds));
  await deps.store.activity.touch(sandboxId);
  return { sandboxId, hostId, seconds, signal: c.req.raw.signal };
}
