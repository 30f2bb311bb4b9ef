import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { Hypervisor } from '../hypervisor.ts';
import { withAbort } from '../os/abort.ts';
import { nullIf } from '../os/absent.ts';
import type { CertClient } from '../ssh/cert-client.ts';
import { AgentMissingError, AgentSession } from './agent-session.ts';
import type { LoggedIn } from './dial.ts';
import { runAgent } from './program.ts';

interface VerifiedLogin {
  client: CertClient;
  /** Verified address, user and host key. */
  endpoint: SshEndpoint;
}

interface Kept extends VerifiedLogin {
  /** Agent session; null where it is opened only on demand, or the agent is missing. */
  session: Promise<AgentSession | null>;
  /** Milliseconds since 1970. */
  since: number;
}

/** Time after which an unused connection is closed: a sandbox made for a command gets it soon. Milliseconds. */
const UNUSED_MS = 60_000;
/** Probe timeout before a kept connection is used, ms. */
const PROBE_MS = 2_000;
/** Probe timeout without a waiting caller, ms: on a busy machine a slow probe must not become a new login. */
const BACKGROUND_PROBE_MS = 20_000;

/**
 * Connections by which sandboxes were verified, kept for their first request: another login would take an emulated
 * guest a second. Each is probed before use.
 */
export class VerifiedLogins {
  readonly #kept = new Map<string, Kept>();

  constructor(
    private readonly hypervisor: Pick<Hypervisor, 'kind' | 'whereabouts'>,
    private readonly agentVersion: string,
  ) {}

  /** Keeps a connection, closing an earlier one of the same sandbox. */
  keep(sandboxId: string, { client, endpoint }: VerifiedLogin): void {
    this.close(sandboxId);
    // A simulated guest runs on this machine's own processors, and accepts a login within some ms.
    const session = this.hypervisor.kind === 'simulated' ? Promise.resolve(null) : this.#agentOn(client);
    const kept: Kept = { client, endpoint, session, since: Date.now() };
    session.catch(() => client.destroy()); // the user of the session gets it
    this.#kept.set(sandboxId, kept);
    client.on('error', () => {}); // 'close' follows
    client.once('close', () => {
      if (this.#kept.get(sandboxId) === kept) this.#kept.delete(sandboxId);
    });
  }

  has(sandboxId: string): boolean {
    return this.#kept.has(sandboxId);
  }

  /** Probes the kept connection of a sandbox and keeps it when alive. @returns false when there is none that works */
  async greet(sandboxId: string): Promise<boolean> {
    const kept = this.#kept.get(sandboxId);
    if (!kept) return false;
    try {
      await this.#alive(sandboxId, kept, BACKGROUND_PROBE_MS);
      kept.since = Date.now();
      return true;
    } catch {
      kept.client.destroy();
      return false;
    }
  }

  /**
   * Returns the agent over the kept connection of a sandbox. Null when it is unusable; it is closed then.
   * @param hostKey the one that is pinned now
   * @param openAgent opens the session where there is none yet
   */
  async use(
    sandboxId: string,
    hostKey: string,
    openAgent: (login: LoggedIn) => Promise<AgentSession>,
    signal: AbortSignal,
  ): Promise<AgentSession | null> {
    const kept = this.#kept.get(sandboxId);
    if (!kept) return null;
    this.#kept.delete(sandboxId);
    const { client, endpoint } = kept;
    const stop = () => void client.destroy();
    if (signal.aborted) stop();
    const opened = withAbort(signal, stop, async () => {
      if (endpoint.hostKey !== hostKey) throw new Error('another host key is pinned by now');
      const session = await this.#alive(sandboxId, kept, PROBE_MS);
      return session ?? (await openAgent({ client, user: endpoint.user }));
    });
    // the new login finds and reports the cause
    return nullIf(opened, () => !signal.aborted);
  }

  close(sandboxId: string): void {
    this.#kept.get(sandboxId)?.client.destroy();
    this.#kept.delete(sandboxId);
  }

  closeAll(): void {
    for (const sandboxId of this.#kept.keys()) this.close(sandboxId);
  }

  closeUnused(now: number): void {
    for (const [sandboxId, { since }] of this.#kept) if (now - since > UNUSED_MS) this.close(sandboxId);
  }

  /** Probes a connection: a machine that was cut off closes none. @throws Error when it is not alive */
  async #alive(
    sandboxId: string,
    { client, endpoint, session }: Kept,
    timeoutMs: number,
  ): Promise<AgentSession | null> {
    const late = setTimeout(() => client.destroy(), timeoutMs);
    try {
      const opened = await session;
      if (opened) {
        await opened.ping();
        return opened;
      }
      const { domain, lease } = await this.hypervisor.whereabouts(sandboxId);
      if (domain === 'running' && lease?.address === endpoint.address && lease.port === endpoint.port) return null;
      throw new Error('its machine is not where it was');
    } finally {
      clearTimeout(late);
    }
  }

  async #agentOn(client: CertClient): Promise<AgentSession | null> {
    try {
      return await AgentSession.open(client, await runAgent(client, this.agentVersion));
    } catch (error) {
      if (error instanceof AgentMissingError) return null;
      throw error;
    }
  }
}
