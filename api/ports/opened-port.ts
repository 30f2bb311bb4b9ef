import type { Context } from 'hono';
import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ExposedPort, PortSettings } from '../../model/ports/exposed-port.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { isFinal } from '../../model/sandbox/sandbox.ts';
import { issuePortToken, newPortSecret } from '../../services/ports/port-token.ts';
import { orThrow, requireSandbox } from '../../services/require.ts';
import { actorOf } from '../http/auth.ts';
import type { Env } from '../http/context.ts';
import { recordAccess } from '../resources/record-access.ts';
import { SSH_PORT } from './port-schemas.ts';
import { refuseTypingBy } from './refuse-typing.ts';

/**
 * Opens a port, or finds it open with the same settings.
 * @throws MayflyError policy_denied, port_refused, sandbox_ended, port_open, ports_full
 */
export async function ensureOpen(
  c: Context<Env>,
  { sandboxId, port }: Pick<ExposedPort, 'sandboxId' | 'port'>,
  settings: PortSettings,
): Promise<{ opened: ExposedPort; isNew: boolean }> {
  const deps = c.get('deps');
  const { exposedPorts } = deps.store;
  if (port === SSH_PORT) throw new MayflyError('port_refused', `Port ${port} is not passed on.`);
  const { project } = await livingSandbox(c, sandboxId);
  await refuseTypingBy(port, deps, project);
  const before = await exposedPorts.get({ sandboxId, port });
  if (before) return { opened: requireAlike(before, settings), isNew: false };
  await requireRoom(c, sandboxId, LIMITS.ports.open - 1);
  await recordPort(c, 'port.opened', sandboxId, { port, ...settings });
  const secret = newPortSecret();
  const wanted = { sandboxId, port, project, ...settings, secret, openedBy: actorOf(c) };
  const opened: ExposedPort = { ...wanted, openedAt: new Date().toISOString() };
  const meanwhile = await exposedPorts.open(opened);
  if (meanwhile) return { opened: requireAlike(meanwhile, settings), isNew: false };
  try {
    // Others were opened at once, or it has ended: whoever comes last sees it.
    await requireRoom(c, sandboxId, LIMITS.ports.open);
    await livingSandbox(c, sandboxId);
  } catch (error) {
    await exposedPorts.close({ sandboxId, port });
    throw error;
  }
  return { opened, isNew: true };
}

function requireAlike(port: ExposedPort, wanted: PortSettings): ExposedPort {
  const names = ['visibility', 'host', 'cors', 'wake'] as const;
  const other = names.filter((name) => port[name] !== wanted[name]);
  if (other.length === 0) return port;
  const said = other.map((name) => `${name} ${port[name]}`).join(', ');
  throw new MayflyError('port_open', `Port ${port.port} of ${port.sandboxId} is open with ${said}.`);
}

/** @throws MayflyError ports_full */
async function requireRoom(c: Context<Env>, sandboxId: string, atMost: number): Promise<void> {
  const { length } = await c.get('deps').store.exposedPorts.of(sandboxId);
  if (length > atMost)
    throw new MayflyError('ports_full', `${LIMITS.ports.open} ports of ${sandboxId} are open already.`);
}

/** @throws MayflyError sandbox_ended */
async function livingSandbox(c: Context<Env>, sandboxId: string) {
  const record = await requireSandbox(c.get('deps'), sandboxId);
  if (!isFinal(record.state) && record.state !== 'destroying') return record;
  throw new MayflyError('sandbox_ended', `The sandbox ${sandboxId} is ${record.state}.`);
}

/** @throws MayflyError port_not_open */
export async function requirePort(c: Context<Env>, { id, port }: { id: string; port: number }): Promise<ExposedPort> {
  const found = await c.get('deps').store.exposedPorts.get({ sandboxId: id, port });
  return orThrow(found, 'port_not_open', `Port ${port} of ${id} is not open for HTTP.`);
}

/** A new token of a port, of which the audit knows. @throws MayflyError port_without_tokens */
export async function issueTokenOf(
  c: Context<Env>,
  opened: ExposedPort,
  ttlSeconds: number,
): Promise<{ id: string; token: string; expiresAt: string }> {
  const { sandboxId, port, visibility } = opened;
  if (visibility !== 'token')
    throw new MayflyError('port_without_tokens', `Port ${port} of ${sandboxId} is for keys of its project.`);
  const { token, claims } = issuePortToken(opened, c.get('apiKey').id, ttlSeconds);
  const expiresAt = new Date(claims.expires * 1_000).toISOString();
  await recordPort(c, 'port.token-issued', sandboxId, { port, tokenId: claims.id, expiresAt });
  return { id: claims.id, token, expiresAt };
}

/** Before it is done. */
export async function recordPort(
  c: Context<Env>,
  kind: Extract<AuditKind, `port.${string}`>,
  sandboxId: string,
  detail: Record<string, unknown>,
): Promise<void> {
  const deps = c.get('deps');
  const { hostId } = await requireSandbox(deps, sandboxId);
  await recordAccess(c, deps, sandboxId, { kind, hostId, detail });
}
