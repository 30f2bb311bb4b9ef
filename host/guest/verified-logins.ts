import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { Hypervisor } from '../hypervisor.ts';
import { stoppedBy } from '../os/abort.ts';
import { orNull } from '../os/absent.ts';
import type { CertClient } from '../ssh/cert-client.ts';
import { AgentNotThere, AgentSession } from './agent-session.ts';
import type { LoggedIn } from './dial.ts';
import { runAgent } from './program.ts';

interface VerifiedLogin {
  client: CertClient;
  /** Where it was verified, and as whom. */
  endpoint: SshEndpoint;
}

interface Kept extends VerifiedLogin {
  /** The agent, once it speaks; null where it is not spoken to before it is needed, or is not there. */
  session: Promise<AgentSession | null>;
  /** Milliseconds since 1970. */
  since: number;
}

/** What nobody has asked for in this time is closed: who has a sandbox made for a command sends it soon. Milliseconds. */
const UNUSED_MS = 60_000;
/** A kept connection that shows no sign of life for this long is not used. Milliseconds. */
const SIGN_OF_LIFE_MS = 2_000;
/** The same for a look, for which no caller waits: a busy machine must not make each look a login. Milliseconds. */
const GREETING_MS = 20_000;

/**
 * The connections by which sandboxes were verified, kept for their first request: another login would take an emulated
 * guest a second. Whoever is there must prove, when it is used, that it still leads there.
 */
export class VerifiedLogins {
  readonly #kept = new Map<string, Kept>();

  constructor(
    private readonly hypervisor: Pick<Hypervisor, 'kind' | 'whereabouts'>,
    private readonly agentVersion: string,
  ) {}

  /** Keeps a connection; one that was kept of this sandbox before is closed. */
  keep(sandboxId: string, { client, endpoint }: VerifiedLogin): void {
    this.close(sandboxId);
    // A simulated guest runs on this machine's own processors, and lets in within some ms.
    const session = this.hypervisor.kind === 'simulated' ? Promise.resolve(null) : this.#agentOn(client);
    const kept: Kept = { client, endpoint, session, since: Date.now() };
    session.catch(() => client.destroy()); // told to whoever uses it
    this.#kept.set(sandboxId, kept);
    client.on('error', () => {}); // its end is told by 'close'
    client.once('close', () => {
      if (this.#kept.get(sandboxId) === kept) this.#kept.delete(sandboxId);
    });
  }

  has(sandboxId: string): boolean {
    return this.#kept.has(sandboxId);
  }

  /** Whether the connection that is kept of a sandbox still leads there; it goes on being kept then. False: there is none. */
  async greet(sandboxId: string): Promise<boolean> {
    const kept = this.#kept.get(sandboxId);
    if (!kept) return false;
    try {
      await this.#alive(sandboxId, kept, GREETING_MS);
      kept.since = Date.now();
      return true;
    } catch {
      kept.client.destroy();
      return false;
    }
  }

  /**
   * The agent over the connection that is kept of a sandbox. Null when it can't be used; it is closed then.
   * @param hostKey the one that is pinned now
   * @param openAgent where it does not speak yet
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
    const opened = stoppedBy(signal, stop, async () => {
      if (endpoint.hostKey !== hostKey) throw new Error('another host key is pinned by now');
      const session = await this.#alive(sandboxId, kept, SIGN_OF_LIFE_MS);
      return session ?? (await openAgent({ client, user: endpoint.user }));
    });
    // what is wrong is found out, and told, by who logs in anew
    return orNull(opened, () => !signal.aborted);
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

  /** Nothing tells us of a machine that was cut off; one that answers runs. @throws Error when it does not */
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
      if (error instanceof AgentNotThere) return null;
      throw error;
    }
  }
}
