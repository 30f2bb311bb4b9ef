import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ExposedPort, PortSettings } from '../../model/ports/exposed-port.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import { recordAccess } from '../audit/record-access.ts';
import { orThrow, requireSandbox, type ServiceDeps } from '../service-deps.ts';
import { issuePortToken, newPortSecret } from './port-token.ts';
import { assertPortTypingAllowed } from './refuse-typing.ts';

/** Port of the host's SSH, which only certificates open. */
const SSH_PORT = 22;

type Deps = Pick<ServiceDeps, 'store' | 'sagas'>;
type PortKey = Pick<ExposedPort, 'sandboxId' | 'port'>;

/** @throws MayflyError port_refused */
export function refuseSsh(port: number): void {
  if (port === SSH_PORT) throw new MayflyError('port_refused', `Port ${port} is not passed on.`);
}

/**
 * Opens a port. Idempotent with the same settings.
 * @throws MayflyError policy_denied, port_refused, sandbox_ended, port_open, ports_full
 */
export async function ensureOpen(
  deps: Deps,
  openedBy: Actor,
  { sandboxId, port }: PortKey,
  settings: PortSettings,
): Promise<{ opened: ExposedPort; isNew: boolean }> {
  const { exposedPorts } = deps.store;
  refuseSsh(port);
  const { project } = await requireLiveSandbox(deps, sandboxId);
  await assertPortTypingAllowed(port, deps, project);
  const before = await exposedPorts.get({ sandboxId, port });
  if (before) return { opened: assertSameSettings(before, settings), isNew: false };
  await assertPortLimit(deps, sandboxId, LIMITS.ports.open - 1);
  await recordPort(deps, openedBy, 'port.opened', sandboxId, { port, ...settings });
  const secret = newPortSecret();
  const opened = { sandboxId, port, project, ...settings, secret, openedBy, openedAt: new Date().toISOString() };
  const meanwhile = await exposedPorts.open(opened);
  if (meanwhile) return { opened: assertSameSettings(meanwhile, settings), isNew: false };
  try {
    // Ports may have been opened, or the sandbox ended, in between: the last to check sees it.
    await assertPortLimit(deps, sandboxId, LIMITS.ports.open);
    await requireLiveSandbox(deps, sandboxId);
  } catch (error) {
    await exposedPorts.close({ sandboxId, port });
    throw error;
  }
  return { opened, isNew: true };
}

/** Closes a port, which voids its tokens. @throws MayflyError port_not_open */
export async function closePort(deps: Deps, actor: Actor, { sandboxId, port }: PortKey): Promise<void> {
  await requirePort(deps, { sandboxId, port });
  await recordPort(deps, actor, 'port.closed', sandboxId, { port });
  await deps.store.exposedPorts.close({ sandboxId, port });
  await awaitCacheExpiry();
}

/** @throws MayflyError port_not_open */
export async function voidPortTokens(deps: Deps, actor: Actor, { sandboxId, port }: PortKey): Promise<void> {
  await requirePort(deps, { sandboxId, port });
  await recordPort(deps, actor, 'port.tokens-voided', sandboxId, { port });
  await deps.store.exposedPorts.resign({ sandboxId, port }, newPortSecret());
  await awaitCacheExpiry();
}

function assertSameSettings(port: ExposedPort, wanted: PortSettings): ExposedPort {
  const names = ['visibility', 'host', 'cors', 'wake'] as const;
  const other = names.filter((name) => port[name] !== wanted[name]);
  if (other.length === 0) return port;
  const said = other.map((name) => `${name} ${port[name]}`).join(', ');
  throw new MayflyError('port_open', `Port ${port.port} of ${port.sandboxId} is open with ${said}.`);
}

/** @throws MayflyError ports_full */
async function assertPortLimit({ store }: Deps, sandboxId: string, atMost: number): Promise<void> {
  const { length } = await store.exposedPorts.of(sandboxId);
  if (length > atMost)
    throw new MayflyError('ports_full', `${LIMITS.ports.open} ports of ${sandboxId} are open already.`);
}

/** @throws MayflyError sandbox_ended */
async function requireLiveSandbox(deps: Deps, sandboxId: string) {
  const record = await requireSandbox(deps, sandboxId);
  if (!isFinal(record.state) && record.state !== 'destroying') return record;
  throw new MayflyError('sandbox_ended', `The sandbox ${sandboxId} is ${record.state}.`);
}

/** @throws MayflyError port_not_open */
export async function requirePort({ store }: Pick<Deps, 'store'>, { sandboxId, port }: PortKey): Promise<ExposedPort> {
  const found = await store.exposedPorts.get({ sandboxId, port });
  return orThrow(found, 'port_not_open', `Port ${port} of ${sandboxId} is not open for HTTP.`);
}

/** Issues and records a token of a port. @throws MayflyError port_without_tokens */
export async function issueTokenOf(
  deps: Deps,
  actor: Actor,
  opened: ExposedPort,
  ttlSeconds: number,
): Promise<{ id: string; token: string; expiresAt: string }> {
  const { sandboxId, port, visibility } = opened;
  if (visibility !== 'token')
    throw new MayflyError('port_without_tokens', `Port ${port} of ${sandboxId} is for keys of its project.`);
  const { token, claims } = issuePortToken(opened, actor.apiKeyId, ttlSeconds);
  const expiresAt = new Date(claims.expires * 1_000).toISOString();
  await recordPort(deps, actor, 'port.token-issued', sandboxId, { port, tokenId: claims.id, expiresAt });
  return { id: claims.id, token, expiresAt };
}

async function recordPort(
  deps: Deps,
  actor: Actor,
  kind: Extract<AuditKind, `port.${string}`>,
  sandboxId: string,
  detail: Record<string, unknown>,
): Promise<void> {
  const { hostId } = await requireSandbox(deps, sandboxId);
  await recordAccess(deps, sandboxId, { kind, actor, hostId, detail });
}
