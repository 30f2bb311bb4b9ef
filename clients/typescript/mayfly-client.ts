import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { Approvals } from './approvals.ts';
import { Captures } from './captures.ts';
import { Hooks } from './functions/hooks.ts';
import { Schedules } from './functions/schedules.ts';
import { Waitpoints } from './functions/waitpoints.ts';
import { Functions } from './functions.ts';
import type { CallOptions } from './http/deadline.ts';
import { type EventStreamOptions, followEvents, type ServerEvent } from './http/event-stream.ts';
import type { CreateSandbox, Host, Sandbox } from './http/openapi.ts';
import { Resource, sandboxPath, type WaitOptions } from './http/resource.ts';
import { type ClientOptions, type PostOptions, Transport } from './http/transport.ts';
import { Images } from './images.ts';
import { Playbooks } from './playbooks.ts';
import { Pools } from './pools.ts';
import { Projects } from './projects.ts';
import { Runs } from './runs.ts';
import { Commands } from './sandbox/commands.ts';
import { Credentials } from './sandbox/credentials.ts';
import { Desktop } from './sandbox/desktop.ts';
import { Files } from './sandbox/files.ts';
import { Ports } from './sandbox/ports.ts';
import { Secrets } from './secrets.ts';
import { Snapshots } from './snapshots.ts';
import { Sources } from './sources.ts';
import { Templates } from './templates.ts';
import { WebhookEndpoints } from './webhook-endpoints.ts';

/** Request for one sandbox. */
export type CreateOneSandbox = Omit<CreateSandbox, 'count'>;

/**
 * Typed client of the HTTP API. Transient failures are retried within bounds; a POST carries one idempotency key
 * through all its attempts, so retries never make a second sandbox.
 *
 * A living sandbox's name is accepted in place of its id. Another sandbox may have the name a moment later, so changes
 * by name are sent only once. For several requests take the id first ({@link MayflyClient.sandboxIdOf}).
 *
 * Every method throws {@link MayflyApiError} when the API refuses or fails, {@link MayflyConnectionError} when it does
 * not answer, and the signal's reason when aborted.
 */
export class MayflyClient extends Resource {
  readonly commands = new Commands(this.transport);
  readonly files = new Files(this.transport);
  readonly ports = new Ports(this.transport);
  readonly desktop = new Desktop(this.transport);
  readonly credentials = new Credentials(this.transport);
  readonly snapshots = new Snapshots(this.transport);
  readonly captures = new Captures(this.transport);
  readonly sources = new Sources(this.transport);
  readonly templates = new Templates(this.transport);
  readonly images = new Images(this.transport);
  readonly playbooks = new Playbooks(this.transport);
  readonly functions = new Functions(this.transport);
  readonly secrets = new Secrets(this.transport);
  readonly runs = new Runs(this.transport);
  readonly hooks = new Hooks(this.transport);
  readonly webhookEndpoints = new WebhookEndpoints(this.transport);
  readonly schedules = new Schedules(this.transport);
  readonly pools = new Pools(this.transport);
  readonly approvals = new Approvals(this.transport);
  readonly projects = new Projects(this.transport);
  readonly waitpoints = new Waitpoints(this.transport);

  /** Newest first. @param options.alive only living ones; `name`: only the living one of that name */
  readonly listSandboxes = this.ask('GET /v1/sandboxes');
  readonly getSandbox = this.ask('GET /v1/sandboxes/{id}');
  readonly extendSandbox = this.send('PATCH /v1/sandboxes/{id}');
  /** Returns the record: `destroyed` with its proof, or `destroying` when the wait ended first. */
  readonly destroySandbox = this.ask('DELETE /v1/sandboxes/{id}');
  /** Stops its processors and keeps its memory. Returns the record: not yet `paused` when the wait ended first. */
  readonly pauseSandbox = this.ask('POST /v1/sandboxes/{id}/pause');
  /** Writes its memory to its host's disk. Returns the record: not yet `hibernated` when the wait ended first. */
  readonly hibernateSandbox = this.ask('POST /v1/sandboxes/{id}/hibernate');
  /** Resumes a paused or hibernated sandbox. Returns the record: not yet `running` when the wait ended first. */
  readonly resumeSandbox = this.ask('POST /v1/sandboxes/{id}/resume');
  readonly sandboxAudit = this.ask('GET /v1/sandboxes/{id}/audit');
  /** Disk space of a sandbox and its snapshots. */
  readonly sandboxUsage = this.ask('GET /v1/sandboxes/{id}/usage');
  /** Disk space of the sandboxes and snapshots of the client's key. */
  readonly keyUsage = this.ask('GET /v1/usage');
  readonly listHosts = this.ask('GET /v1/hosts');
  /**
   * Decommissions a host that is lost for good: its sandboxes end *unproved*. Returns when no workflow waits for the
   * host, or the wait ended first.
   */
  readonly forgetHost = this.ask('DELETE /v1/hosts/{id}');
  readonly listSources = this.ask('GET /v1/sources');
  /** Creates a key once, however often the request is sent; only the secret in the last answer is valid. */
  readonly createKey = this.send('POST /v1/keys');
  readonly listKeys = this.ask('GET /v1/keys');
  /** Revokes the key: it is refused from the next request on. */
  readonly revokeKey = this.ask('DELETE /v1/keys/{id}');
  /** Changes its storage quota; omitted fields stay, null lifts a limit. */
  readonly limitKey = this.send('PATCH /v1/keys/{id}');
  readonly #create = this.send('POST /v1/sandboxes');
  readonly #changeHost = this.send('PATCH /v1/hosts/{id}');

  constructor(options: ClientOptions) {
    super(new Transport(options));
  }

  /** Returns the record: `running`, or an earlier state when the wait ended first. */
  createSandbox(request: CreateOneSandbox, options: WaitOptions & PostOptions = {}): Promise<Sandbox> {
    return this.#create(request, options) as Promise<Sandbox>;
  }

  /** Returns an id as it is, and for a name the id of the sandbox that has it now. */
  async sandboxIdOf(idOrName: string, options: CallOptions = {}): Promise<string> {
    return isSandboxId(idOrName) ? idOrName : (await this.getSandbox(idOrName, options)).id;
  }

  /** Stops or resumes placement on a host; its sandboxes live on. */
  drainHost(id: string, drained: boolean, options: CallOptions = {}): Promise<Host> {
    return this.#changeHost(id, { drained }, options);
  }

  /** Yields the record as it is now and after every change, until the sandbox has ended. */
  async *watchSandbox(id: string, options: EventStreamOptions = {}): AsyncGenerator<Sandbox, void, undefined> {
    for await (const { event, data } of this.sandboxEvents(id, options)) {
      if (event === 'sandbox') yield JSON.parse(data) as Sandbox;
    }
  }

  /** Yields all events of a sandbox: `audit` entries from the first, and `sandbox` as in {@link watchSandbox}. */
  async *sandboxEvents(
    idOrName: string,
    options: EventStreamOptions = {},
  ): AsyncGenerator<ServerEvent, void, undefined> {
    const call = options.signal ? { signal: options.signal } : {};
    const id = await this.sandboxIdOf(idOrName, call);
    const isOver = async () => isFinal((await this.getSandbox(id, call)).state);
    yield* followEvents(this.transport, `${sandboxPath(id)}/events`, isOver, options);
  }
}
