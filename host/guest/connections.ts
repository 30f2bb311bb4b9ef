import { MayflyError } from '../../model/errors.ts';
import type { Hypervisor } from '../hypervisor.ts';
import { orAborted, stoppedBy } from '../os/abort.ts';
import { type VerifyRequest, verifySsh } from '../ssh/verify.ts';
import type { StepContext } from '../step-context.ts';
import { AgentNotThere, AgentSession } from './agent-session.ts';
import { type DialDeps, dial, type LoggedIn } from './dial.ts';
import { type AgentProgram, runAgent, uploadAgent } from './program.ts';
import { VerifiedLogins } from './verified-logins.ts';

interface GuestConnectionsDeps extends DialDeps {
  hypervisor: Pick<Hypervisor, 'kind' | 'whereabouts'>;
  agent: AgentProgram;
}

/** A connection that nobody has used for this long is closed. Milliseconds. */
const IDLE_MS = 600_000;
const SWEEP_MS = 30_000;
/** What the login shell says of a program that it cannot run, and the agent of a host that wants another version. */
const NOT_THERE: ReadonlySet<number | null> = new Set([3, 126, 127]);

/** A connection that is being made, for everybody who waits for it. */
interface Dialling {
  session: Promise<AgentSession>;
  stop: AbortController;
  waiting: Set<StepContext>;
}

/** The way to the agents of this machine's sandboxes: one kept-alive SSH connection each, made when it is needed. */
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
   * Logs in as {@link verifySsh} does, and keeps the connection for the first request of a sandbox that runs. It ends
   * when nobody uses it. @throws as {@link verifySsh}
   */
  async verify(sandboxId: string, request: VerifyRequest): Promise<void> {
    const client = await verifySsh(request);
    if (this.#isClosed) client.destroy();
    else this.#verified.keep(sandboxId, { client, endpoint: request.endpoint });
  }

  /**
   * Whether a sandbox answers that nobody uses yet; its connection is kept for whoever comes.
   * @throws as {@link agent}
   */
  async greet(sandboxId: string, context: StepContext): Promise<void> {
    const open = this.#open.get(sandboxId);
    if ((!open || open.closed) && (await this.#verified.greet(sandboxId))) return;
    await (await this.agent(sandboxId, context)).ping();
  }

  /**
   * Made when there is none; `alive` hears of every failed attempt. @throws MayflyError guest_unreachable,
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
      return await orAborted(dialling.session, context.signal);
    } finally {
      dialling.waiting.delete(waiter);
      if (dialling.waiting.size === 0) this.#abandon(sandboxId, dialling, new Error('nobody waits for it any more'));
    }
  }

  /**
   * Ends the connection of a sandbox, made or in the making; its requests fail.
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
    session.then(forget, forget); // the failure itself is told to whoever waits
    return dialling;
  }

  #abandon(sandboxId: string, dialling: Dialling, why: Error): void {
    if (this.#dialling.get(sandboxId) === dialling) this.#dialling.delete(sandboxId);
    dialling.stop.abort(why);
  }

  async #connect(sandboxId: string, context: StepContext): Promise<AgentSession> {
    const session = (await this.#overVerified(sandboxId, context)) ?? (await this.#overNew(sandboxId, context));
    if (context.signal.aborted) session.close();
    context.signal.throwIfAborted();
    this.#open.set(sandboxId, session);
    session.onClose(() => {
      if (this.#open.get(sandboxId) === session) this.#open.delete(sandboxId);
    });
    return session;
  }

  async #overVerified(sandboxId: string, context: StepContext): Promise<AgentSession | null> {
    if (!this.#verified.has(sandboxId)) return null;
    const { hostKey } = await this.deps.identify(sandboxId); // refuses one that does not run
    const openAgent = (login: LoggedIn) => this.#agentOn(login, context);
    return this.#verified.use(sandboxId, hostKey, openAgent, context.signal);
  }

  async #overNew(sandboxId: string, context: StepContext): Promise<AgentSession> {
    const login = await dial(this.deps, sandboxId, context);
    const { client } = login;
    client.on('error', () => {}); // its end is told by 'close'
    const stop = () => void client.destroy();
    return stoppedBy(context.signal, stop, () => this.#agentOn(login, context));
  }

  /** Speaks to the agent; puts it into the guest first when it is not there or is another version. */
  async #agentOn({ client, user }: LoggedIn, context: StepContext): Promise<AgentSession> {
    const { agent } = this.deps;
    try {
      return await AgentSession.open(client, await runAgent(client, agent.version));
    } catch (error) {
      if (!(error instanceof AgentNotThere)) throw error;
      if (!NOT_THERE.has(error.exitCode)) throw notStarted(error);
    }
    context.alive('putting the agent into the guest');
    await uploadAgent(client, user, agent);
    try {
      return await AgentSession.open(client, await runAgent(client, agent.version));
    } catch (error) {
      throw error instanceof AgentNotThere ? notStarted(error) : error;
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

function notStarted({ exitCode, complaint }: AgentNotThere): MayflyError {
  if (exitCode === null) {
    return new MayflyError('guest_unreachable', `The connection ended while the agent was started: ${complaint}`);
  }
  return new MayflyError('guest_failed', `The guest's agent does not start (exit ${exitCode}): ${complaint}`);
}
