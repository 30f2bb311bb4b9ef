import type { Context } from 'hono';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { DESKTOP_PORTS } from '../../services/desktop/desktop-ports.ts';
import type { Place } from '../../services/desktop/screens.ts';
import type { AuditThrottle } from '../../services/ports/audit-throttle.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { recordAccess } from '../resources/record-access.ts';
import { awakeSandbox } from '../sandboxes/awake-sandbox.ts';

interface Access {
  kind: Extract<AuditKind, `desktop.${string}`>;
  detail: Record<string, unknown>;
  /** For viewers, who look often. `@default` every access is recorded */
  throttle?: AuditThrottle;
}

/** A sandbox that is awake, after its audit has been told what is about to be done. @throws MayflyError as {@link awakeSandbox} */
export async function beginAccess(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  { kind, detail, throttle }: Access,
): Promise<Place> {
  const { seconds } = preferenceOf(c.req.header('prefer'));
  const { hostId } = await awakeSandbox(c, deps, sandboxId, seconds);
  await deps.store.activity.touch(sandboxId);
  const say = () => recordAccess(c, deps, sandboxId, { kind, hostId, detail });
  if (throttle) await throttle.once({ by: c.get('apiKey').id, sandboxId, port: DESKTOP_PORTS.screen }, say);
  else await say();
  return { sandboxId, hostId, seconds, signal: c.req.raw.signal };
}
