import type { HostRecord } from '../model/host.ts';
import type { AuditEntry } from '../model/sandbox/audit.ts';
import { type IdleAction, isFinal, type SandboxRecord, type SandboxState } from '../model/sandbox/sandbox.ts';
import { isSandboxId } from '../model/sandbox-id.ts';
import type { Scope } from '../model/scopes.ts';
import type { StorageQuota } from '../model/snapshots/storage.ts';
import { Approvals } from './approvals.ts';
import { Captures } from './captures.ts';
import type { CreateSandbox } from './create-sandbox.ts';
import { Credentials } from './credentials.ts';
import { Hooks } from './functions/hooks.ts';
import { Schedules } from './functions/schedules.ts';
import { Waitpoints } from './functions/waitpoints.ts';
import { Functions } from './functions.ts';
import { type EventStreamOptions, followEvents, type ServerEvent } from './http/event-stream.ts';
import type { Page, PageOptions, WaitOptions } from './http/options.ts';
import { prefer, sandboxPath } from './http/paths.ts';
import { type CallOptions, type ClientOptions, type PostOptions, Transport } from './http/transport.ts';
import { Images } from './images.ts';
import { Playbooks } from './playbooks.ts';
import { Pools } from './pools.ts';
import { Projects } from './projects.ts';
import { Runs } from './runs.ts';
import { Commands } from './sandbox/commands.ts';
import { Desktop } from './sandbox/desktop.ts';
import { Files } from './sandbox/files.ts';
import { Ports } from './sandbox/ports.ts';
import { Secrets } from './secret/secrets.ts';
import { Snapshots } from './snapshots.ts';
import { type Source, Sources } from './sources.ts';
import { Templates } from './templates.ts';
import { WebhookEndpoints } from './webhooks/webhook-endpoints.ts';

export interface ExtendSandbox {
  /** Seconds from now to the new end. */
  ttlSeconds?: number;
  /** Seconds without use; null switches the idle timer off. */
  idleSeconds?: number | null;
  onIdle?: IdleAction;
  autoResume?: boolean;
  /** Replaces the metadata as a whole. */
  metadata?: Record<string, string>;
}

/** Oldest first. `head`: how long the chain is, and its last hash; null before its first entry. */
export interface AuditPage extends Page<AuditEntry> {
  head: { count: number; hash: string; mac: string } | null;
}

export interface ApiKey extends StorageQuota {
  id: string;
  project: string;
  name: string;
  scopes: Scope[];
  createdAt: string;
  revokedAt: string | null;
}

/** The only time that the key itself is seen. */
export interface NewApiKey extends ApiKey {
  secret: string;
}

/** Bytes; a quota of null is no limit. */
export interface SandboxUsage {
  sandboxId: string;
  usedBytes: number;
  quotaBytes: number | null;
  workspaceBytes: number;
  /** When its host measured the workspace; null: not yet, or there is none any more. */
  measuredAt: string | null;
  snapshotBytes: number;
  snapshots: number;
}

/** Bytes; a quota of null is no limit. */
export interface KeyUsage {
  apiKeyId: string;
  /** What the key may do. */
  scopes: Scope[];
  usedBytes: number;
  quotaBytes: number | null;
  /** Of each of its sandboxes, with its snapshots. */
  sandboxQuotaBytes: number | null;
  workspaceBytes: number;
  sandboxes: number;
  snapshotBytes: number;
  snapshots: number;
}

/** `live`: heard of lately enough to be given sandboxes. */
export interface Host extends HostRecord {
  live: boolean;
  /** Sandboxes on it that pools keep ready, and nobody has claimed. */
  poolMembers: number;
  /** Templates that sandboxes can wake from on it. */
  templates: number;
}

/**
 * The HTTP API, typed. Requests that fail in passing are repeated within bounds; a POST carries one idempotency key
 * through all its attempts, so repeating never makes a second sandbox.
 *
 * Where a method takes the id of a sandbox, it takes the name of one that lives too. A name may be another's a moment
 * later: what is changed or ended by it is asked for once only, and who has several things to ask takes the id first
 * ({@link MayflyClient.sandboxIdOf}).
 *
 * Every method throws {@link MayflyApiError} when the API refuses or fails, {@link MayflyConnectionError} when
 * it does not answer, and the signal's reason when aborted.
 */
export class MayflyClient {
  /** Commands in sandboxes. */
  readonly commands: Commands;
  /** Files in sandboxes. */
  readonly files: Files;
  /** Ports of sandboxes. */
  readonly ports: Ports;
  /** Screens of sandboxes that have one. */
  readonly desktop: Desktop;
  /** Certificates that open sandboxes. */
  readonly credentials: Credentials;
  /** What is saved of sandboxes. */
  readonly snapshots: Snapshots;
  /** Copies of running sources. */
  readonly captures: Captures;
  /** Read-only commands and files of sources. */
  readonly sources: Sources;
  /** Memories that sandboxes wake from. */
  readonly templates: Templates;
  /** Sources that are built of Dockerfiles. */
  readonly images: Images;
  readonly playbooks: Playbooks;
  /** Programs that run once for each event. */
  readonly functions: Functions;
  readonly secrets: Secrets;
  /** Events that they run for. */
  readonly runs: Runs;
  /** Ways in for signed events from outside. */
  readonly hooks: Hooks;
  /** Where events of the project are sent to. */
  readonly webhookEndpoints: WebhookEndpoints;
  /** Times at which functions run. */
  readonly schedules: Schedules;
  /** Sandboxes that are kept ready. */
  readonly pools: Pools;
  /** Requests that wait for somebody's leave, and the policy that asks for it. */
  readonly approvals: Approvals;
  /** Tenants. */
  readonly projects: Projects;
  /** Where processes of runs wait for data from outside. */
  readonly waitpoints: Waitpoints;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.commands = new Commands(this.#transport);
    this.files = new Files(this.#transport);
    this.ports = new Ports(this.#transport);
    this.desktop = new Desktop(this.#transport);
    this.credentials = new Credentials(this.#transport);
    this.snapshots = new Snapshots(this.#transport);
    this.captures = new Captures(this.#transport);
    this.sources = new Sources(this.#transport);
    this.templates = new Templates(this.#transport);
    this.images = new Images(this.#transport);
    this.playbooks = new Playbooks(this.#transport);
    this.functions = new Functions(this.#transport);
    this.secrets = new Secrets(this.#transport);
    this.runs = new Runs(this.#transport);
    this.hooks = new Hooks(this.#transport);
    this.webhookEndpoints = new WebhookEndpoints(this.#transport);
    this.schedules = new Schedules(this.#transport);
    this.pools = new Pools(this.#transport);
    this.approvals = new Approvals(this.#transport);
    this.projects = new Projects(this.#transport);
    this.waitpoints = new Waitpoints(this.#transport);
  }

  /** Returns the record: `running`, or an earlier state when the wait was over first. */
  createSandbox(request: CreateSandbox, options: WaitOptions & PostOptions = {}): Promise<SandboxRecord> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: '/v1/sandboxes', body: request, headers }, options);
  }

  /** Newest first. @param options.alive only those that have not ended; `name`: only the one that lives and has it */
  listSandboxes(
    options: PageOptions & { state?: SandboxState; alive?: true; name?: string } = {},
  ): Promise<Page<SandboxRecord>> {
    const { limit, cursor, state, alive, name } = options;
    const query = { limit, cursor, state, name, ...(alive && { alive: 'true' }) };
    return this.#transport.json({ method: 'GET', path: '/v1/sandboxes', query }, options);
  }

  /** An id as it is; for a name the id of the sandbox that has it now. */
  async sandboxIdOf(idOrName: string, options: CallOptions = {}): Promise<string> {
    return isSandboxId(idOrName) ? idOrName : (await this.getSandbox(idOrName, options)).id;
  }

  getSandbox(id: string, options: CallOptions = {}): Promise<SandboxRecord> {
    return this.#transport.json({ method: 'GET', path: sandboxPath(id) }, options);
  }

  extendSandbox(id: string, change: ExtendSandbox, options: CallOptions = {}): Promise<SandboxRecord> {
    return this.#transport.json({ method: 'PATCH', path: sandboxPath(id), body: change }, options);
  }

  /** Returns the record: `destroyed` with its proof, or `destroying` when the wait was over first. */
  destroySandbox(id: string, options: WaitOptions & CallOptions = {}): Promise<SandboxRecord> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: sandboxPath(id), headers }, options);
  }

  /** Stops its processors; its memory is kept. Returns the record: not yet `paused` when the wait was over first. */
  pauseSandbox(id: string, options: WaitOptions & PostOptions = {}): Promise<SandboxRecord> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: `${sandboxPath(id)}/pause`, headers }, options);
  }

  /** Puts its memory on its host's disk. Returns the record: not yet `hibernated` when the wait was over first. */
  hibernateSandbox(id: string, options: WaitOptions & PostOptions = {}): Promise<SandboxRecord> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: `${sandboxPath(id)}/hibernate`, headers }, options);
  }

  /** Lets a paused or hibernated sandbox go on. Returns the record: not yet `running` when the wait was over first. */
  resumeSandbox(id: string, options: WaitOptions & PostOptions = {}): Promise<SandboxRecord> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'POST', path: `${sandboxPath(id)}/resume`, headers }, options);
  }

  /** The record as it is now and after every change, until the sandbox has ended. */
  async *watchSandbox(id: string, options: EventStreamOptions = {}): AsyncGenerator<SandboxRecord, void, undefined> {
    for await (const { event, data } of this.sandboxEvents(id, options)) {
      if (event === 'sandbox') yield JSON.parse(data) as SandboxRecord;
    }
  }

  /** Everything that happens to a sandbox: `audit` entries from the first, and `sandbox` as in {@link watchSandbox}. */
  async *sandboxEvents(
    idOrName: string,
    options: EventStreamOptions = {},
  ): AsyncGenerator<ServerEvent, void, undefined> {
    const call = options.signal ? { signal: options.signal } : {};
    const id = await this.sandboxIdOf(idOrName, call);
    const isOver = async () => isFinal((await this.getSandbox(id, call)).state);
    yield* followEvents(this.#transport, `${sandboxPath(id)}/events`, isOver, options);
  }

  sandboxAudit(id: string, options: PageOptions = {}): Promise<AuditPage> {
    const { limit, cursor } = options;
    return this.#transport.json({ method: 'GET', path: `${sandboxPath(id)}/audit`, query: { limit, cursor } }, options);
  }

  listHosts(options: CallOptions = {}): Promise<Page<Host>> {
    return this.#transport.json({ method: 'GET', path: '/v1/hosts' }, options);
  }

  /** Gives a host no more sandboxes, or some again; what lives on it lives on. */
  drainHost(id: string, drained: boolean, options: CallOptions = {}): Promise<Host> {
    return this.#transport.json({ method: 'PATCH', path: hostPath(id), body: { drained } }, options);
  }

  /**
   * Gives up a host that is lost for good: its sandboxes end, and that nothing of them is left there is unproved. Returns when
   * nothing waits for it any more, or the wait was over first.
   */
  forgetHost(id: string, options: WaitOptions & CallOptions = {}): Promise<Host> {
    const headers = prefer(options.waitSeconds);
    return this.#transport.json({ method: 'DELETE', path: hostPath(id), headers }, options);
  }

  listSources(options: CallOptions = {}): Promise<Page<Source>> {
    return this.#transport.json({ method: 'GET', path: '/v1/sources' }, options);
  }

  /** Made once, however often the request is sent; the last answer has the secret that opens. */
  createKey(
    request: { name: string; scopes: Scope[]; project?: string } & Partial<StorageQuota>,
    options: PostOptions = {},
  ): Promise<NewApiKey> {
    return this.#transport.json({ method: 'POST', path: '/v1/keys', body: request }, options);
  }

  listKeys(options: CallOptions = {}): Promise<Page<ApiKey>> {
    return this.#transport.json({ method: 'GET', path: '/v1/keys' }, options);
  }

  /** The key is refused from the next request on. */
  revokeKey(id: string, options: CallOptions = {}): Promise<ApiKey> {
    return this.#transport.json({ method: 'DELETE', path: `/v1/keys/${encodeURIComponent(id)}` }, options);
  }

  /** Changes how much may be stored; what is not named stays, null lifts a limit. */
  limitKey(id: string, quota: Partial<StorageQuota>, options: CallOptions = {}): Promise<ApiKey> {
    return this.#transport.json({ method: 'PATCH', path: `/v1/keys/${encodeURIComponent(id)}`, body: quota }, options);
  }

  /** What a sandbox and its snapshots take of the disk of their host. */
  sandboxUsage(id: string, options: CallOptions = {}): Promise<SandboxUsage> {
    return this.#transport.json({ method: 'GET', path: `${sandboxPath(id)}/usage` }, options);
  }

  /** What the sandboxes and snapshots of the key that asks take of disks. */
  keyUsage(options: CallOptions = {}): Promise<KeyUsage> {
    return this.#transport.json({ method: 'GET', path: '/v1/usage' }, options);
  }
}

function hostPath(id: string): string {
  return `/v1/hosts/${encodeURIComponent(id)}`;
}
