import { MayflyError } from '../../model/errors.ts';
import type { Hypervisor } from '../hypervisor.ts';
import { raceAbort, withAbort } from '../os/abort.ts';
import { type VerifyRequest, verifySsh } from '../ssh/verify.ts';
import type { StepContext } from '../step-context.ts';
import { AgentMissingError, AgentSession } from './agent-session.ts';
import { type DialDeps, dial, type LoggedIn } from './dial.ts';
import { type AgentProgram, runAgent, uploadAgent } from './program.ts';
import { VerifiedLogins } from './verified-logins.ts';

interface GuestConnectionsDeps extends DialDeps {
  hypervisor: Pick<Hypervisor, 'kind' | 'whereabouts'>;
  agent: AgentProgram;
}

/** Idle time after which a connection is closed, ms. */
const IDLE_MS = 600_000;
const SWEEP_MS = 30_000;
/** Exit codes of a login shell that cannot run a program, and of an agent of another version. */
const EXIT_MISSING: ReadonlySet<number | null> = new Set([3, 126, 127]);

/** Connection in progress, shared by all its waiters. */
interface Dialling {
  session: Promise<AgentSession>;
  stop: AbortController;
  waiting: Set<StepContext>;
}

/** Connections to the agents of this machine's sandboxes: one kept-alive SSH connection each, opened on demand. */
export class GuestConnections {
  readonly #open = new Map<string, AgentSession>();
  readonly #dialling = new Map<string, Dialling>();
  readonly #verified: VerifiedLogins;
  readonly #sweeper: NodeJS.Timeout;
  #isClosed = false;

  constructor(private readonly deps: GuestConnectionsDeps) {
    this.#verified = new VerifiedLogins(deps.hypervisor, deps.agent.version);
    this.#sweeper = setInterval(() => this.#closeIdle(), SWEEP_MS);
    this.#sweeper.unref();
  }

  /**
   * Logs in as {@link verifySsh} does, and keeps the connection for the sandbox's first request. It closes when unused.
   * @throws as {@link verifySsh}
   */
  async verify(sandboxId: string, request: VerifyRequest): Promise<void> {
    const client = await verifySsh(request);
    if (this.#isClosed) client.destroy();
    else this.#verified.keep(sandboxId, { client, endpoint: request.endpoint });
  }

  /** Probes a sandbox that is not in use yet; its connection is kept for the first user. @throws as {@link agent} */
  async greet(sandboxId: string, context: StepContext): Promise<void> {
    const open = this.#open.get(sandboxId);
    if ((!open || open.closed) && (await this.#verified.greet(sandboxId))) return;
    await (await this.agent(sandboxId, context)).ping();
  }

  /**
   * Returns the open session, or connects; `alive` reports every failed attempt. @throws MayflyError guest_unreachable,
   * host_key_mismatch, guest_failed, sandbox_ended and others of {@link dial}; the signal's reason
   */
  async agent(sandboxId: string, context: StepContext): Promise<AgentSession> {
    context.signal.throwIfAborted();
    const open = this.#open.get(sandboxId);
    if (open && !open.closed) return open;
    const dialling = this.#dialling.get(sandboxId) ?? this.#dial(sandboxId);
    const waiter = { ...context };
    dialling.waiting.add(waiter);
    try {
      return await raceAbort(dialling.session, context.signal);
    } finally {
      dialling.waiting.delete(waiter);
      if (dialling.waiting.size === 0) this.#abandon(sandboxId, dialling, new Error('nobody waits for it any more'));
    }
  }

  /**
   * Closes a sandbox's connection, open or in progress; its requests fail.
   * @param why `@default` its credentials are removed
   */
  close(sandboxId: string, why: MayflyError = credentialsRemoved(sandboxId)): void {
    const dialling = this.#dialling.get(sandboxId);
    if (dialling) this.#abandon(sandboxId, dialling, why);
    this.#verified.close(sandboxId);
    this.#open.get(sandboxId)?.close();
  }

  closeAll(): void {
    clearInterval(this.#sweeper);
    this.#isClosed = true;
    this.#verified.closeAll();
    const ending = new MayflyError('host_unavailable', 'The host worker ends.');
    for (const [sandboxId, dialling] of this.#dialling) this.#abandon(sandboxId, dialling, ending);
    for (const session of this.#open.values()) session.close();
  }

  #dial(sandboxId: string): Dialling {
    const stop = new AbortController();
    const waiting = new Set<StepContext>();
    const alive = (detail: string) => {
      for (const waiter of waiting) waiter.alive(detail);
    };
    const session = this.#connect(sandboxId, { signal: stop.signal, alive });
    const dialling = { session, stop, waiting };
    this.#dialling.set(sandboxId, dialling);
    const forget = () => this.#abandon(sandboxId, dialling, new Error('it has been made, or has failed'));
    session.then(forget, forget); // waiters get the failure itself
    return dialling;
  }

  #abandon(sandboxId: string, dialling: Dialling, why: Error): void {
    if (this.#dialling.get(sandboxId) === dialling) this.#dialling.delete(sandboxId);
    dialling.stop.abort(why);
  }

  async #connect(sandboxId: string, context: StepContext): Promise<AgentSession> {
    const session = (await this.#reuseVerified(sandboxId, context)) ?? (await this.#dialNew(sandboxId, context));
    if (context.signal.aborted) session.close();
    context.signal.throwIfAborted();
    this.#open.set(sandboxId, session);
    session.onClose(() => {
      if (this.#open.get(sandboxId) === session) this.#open.delete(sandboxId);
    });
    return session;
  }

  async #reuseVerified(sandboxId: string, context: StepContext): Promise<AgentSession | null> {
    if (!this.#verified.has(sandboxId)) return null;
    const { hostKey } = await this.deps.identify(sandboxId); // refuses one that does not run
    const openAgent = (login: LoggedIn) => this.#agentOn(login, context);
    return this.#verified.use(sandboxId, hostKey, openAgent, context.signal);
  }

  async #dialNew(sandboxId: string, context: StepContext): Promise<AgentSession> {
    const login = await dial(this.deps, sandboxId, context);
    const { client } = login;
    client.on('error', () => {}); // 'close' follows
    const stop = () => void client.destroy();
    return withAbort(context.signal, stop, () => this.#agentOn(login, context));
  }

  /** Connects to the agent; uploads it first when it is missing or another version. */
  async #agentOn({ client, user }: LoggedIn, context: StepContext): Promise<AgentSession> {
    const { agent } = this.deps;
    try {
      return await AgentSession.open(client, await runAgent(client, agent.version));
    } catch (error) {
      if (!(error instanceof AgentMissingError)) throw error;
      if (!EXIT_MISSING.has(error.exitCode)) throw notStarted(error);
    }
    context.alive('putting the agent into the guest');
    await uploadAgent(client, user, agent);
    try {
      return await AgentSession.open(client, await runAgent(client, agent.version));
    } catch (error) {
      throw error instanceof AgentMissingError ? notStarted(error) : error;
    }
  }

  #closeIdle(): void {
    const now = Date.now();
    this.#verified.closeUnused(now);
    for (const session of this.#open.values()) {
      if (session.openRequests === 0 && now - session.lastUsed > IDLE_MS) session.close();
    }
  }
}

function credentialsRemoved(sandboxId: string): MayflyError {
  return new MayflyError('sandbox_ended', `The connection to ${sandboxId} was closed: its credentials are removed.`);
}

function notStarted({ exitCode, complaint }: AgentMissingError): MayflyError {
  if (exitCode === null) {
    return new MayflyError('guest_unreachable', `The connection ended while the agent was started: ${complaint}`);
  }
  return new MayflyError('guest_failed', `The guest's agent does not start (exit ${exitCode}): ${complaint}`);
}
