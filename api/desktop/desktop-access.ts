import type { Context } from 'hono';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { DESKTOP_PORTS } from '../ports/desktop-ports.ts';
import type { SaidConnections } from '../ports/said-connections.ts';
import { recordAccess } from '../resources/record-access.ts';
import { awakeSandbox } from '../sandboxes/awake-sandbox.ts';
import type { Place } from './open-screen.ts';

interface Access {
  kind: Extract<AuditKind, `desktop.${string}`>;
  detail: Record<string, unknown>;
  /** Who looks on looks often: that is said once a minute. `@default` each is said */
  said?: SaidConnections;
}

/** A sandbox that is awake, after its audit has been told what is about to be done. @throws MayflyError as {@link awakeSandbox} */
export async function beginAccess(
  c: Context<Env>,
  deps: RequestDeps,
  sandboxId: string,
  { kind, detail, said }: Access,
): Promise<Place> {
  const { seconds } = preferenceOf(c.req.header('prefer'));
  const { hostId } = await awakeSandbox(c, deps, sandboxId, seconds);
  await deps.store.activity.touch(sandboxId);
  const say = () => recordAccess(c, deps, sandboxId, { kind, hostId, detail });
  if (said) await said.once({ by: c.get('apiKey').id, sandboxId, port: DESKTOP_PORTS.screen }, say);
  else await say();
  return { sandboxId, hostId, seconds, signal: c.req.raw.signal };
}
