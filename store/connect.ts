import type mongoose from 'mongoose';
import { MayflyError } from '../model/errors.ts';
import { Admissions } from './access/admissions.ts';
import { ApiKeys } from './access/api-keys.ts';
import { Certificates } from './access/certificates.ts';
import { Hosts } from './access/hosts.ts';
import { Idempotency } from './access/idempotency.ts';
import { Projects } from './access/projects.ts';
import { Relays } from './access/relays.ts';
import { Serials } from './access/serials.ts';
import { Signers } from './access/signers.ts';
import { Approvals } from './approvals/approvals.ts';
import { Policies } from './approvals/policies.ts';
import { Audit } from './audit/audit.ts';
import { ChainKey } from './audit/audit-chain.ts';
import type { AuditKeys } from './audit/audit-verifier.ts';
import { StoredCommandInputs } from './commands/command-inputs.ts';
import { Commands } from './commands/commands.ts';
import { Output } from './commands/output.ts';
import { Bulks } from './functions/bulks.ts';
import { FunctionFiles } from './functions/function-files.ts';
import { FunctionVersions } from './functions/function-versions.ts';
import { Functions } from './functions/functions.ts';
import { Hooks } from './functions/hooks.ts';
import { CollectedRuns } from './functions/queue/gathered-runs.ts';
import { RunQueue } from './functions/queue/run-queue.ts';
import { UnvalidatedRuns } from './functions/queue/unchecked-runs.ts';
import { SuspendedRuns } from './functions/queue/waiting-runs.ts';
import { ReceiptKeys, Receipts } from './functions/receipts.ts';
import { RunContents } from './functions/run-contents.ts';
import { RunMembers } from './functions/run-members.ts';
import { Runs } from './functions/runs.ts';
import { FunctionSetups } from './functions/setup/function-setups.ts';
import { ImageContexts } from './images/image-contexts.ts';
import { ImageLayers } from './images/image-layers.ts';
import { Images } from './images/images.ts';
import { UploadedContexts } from './images/sent-contexts.ts';
import { createIndexes } from './layout.ts';
import { McpEvents } from './mcp/mcp-events.ts';
import { McpSessions } from './mcp/mcp-sessions.ts';
import { withStoreErrors } from './mongo/failure.ts';
import { openConnection } from './mongo/open.ts';
import { PeriodicTasks } from './periodic-tasks.ts';
import { PlaybookParts } from './playbooks/playbook-parts.ts';
import { Playbooks } from './playbooks/playbooks.ts';
import { PoolShares } from './pools/pool-shares.ts';
import { Pools } from './pools/pools.ts';
import { ExposedPorts } from './ports/exposed-ports.ts';
import type { Anchor } from './register/anchor.ts';
import { TransparencyLog } from './register/register.ts';
import { RegisterKey } from './register/register-key.ts';
import { AuditRetention } from './retention/audit-retention.ts';
import { RunRetention } from './retention/past-runs.ts';
import { Retention } from './retention/retention.ts';
import { Activities } from './sandboxes/activity.ts';
import { MeasuredDisks } from './sandboxes/measured-disks.ts';
import { PoolMembers } from './sandboxes/pool-members.ts';
import { ReconcileOutcomes } from './sandboxes/reconciled.ts';
import { Sandboxes } from './sandboxes/sandboxes.ts';
import { ScheduleTimes } from './schedules/schedule-times.ts';
import { Schedules } from './schedules/schedules.ts';
import { type Scan, scanRecords } from './sealed/scan.ts';
import type { StoreKeys } from './sealed/seal.ts';
import type { Unreadable } from './sealed/sealed-fields.ts';
import { StoreEncryption } from './sealed/sealing.ts';
import { AttemptSecrets } from './secrets/attempt-secrets.ts';
import { SecretUses } from './secrets/secret-uses.ts';
import { SecretValues } from './secrets/secret-values.ts';
import { Secrets } from './secrets/secrets.ts';
import { BakedSources } from './snapshots/baked-sources.ts';
import { Captures } from './snapshots/captures.ts';
import { Snapshots } from './snapshots/snapshots.ts';
import { Sources } from './snapshots/sources.ts';
import { Templates } from './templates/templates.ts';
import { Waitpoints } from './waitpoints/waitpoints.ts';
import { UnpublishedRuns } from './webhooks/untold-runs.ts';
import { WebhookDeliveries } from './webhooks/webhook-deliveries.ts';
import { WebhookEndpoints } from './webhooks/webhook-endpoints.ts';

export interface Store extends ReturnType<typeof createRepositories> {
  /** @param withinMs ms @throws MayflyError store_unavailable, payload_key_unusable */
  scanRecords(withinMs: number): Promise<Scan>;
  /** Resolves when the server answers. @throws MayflyError store_unavailable */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface StoreOptions {
  /**
   * Keys that encrypt stored content; without them encrypted fields can be neither read nor written. The first
   * encrypts, all decrypt.
   */
  keys?: StoreKeys;
  /**
   * True in a process of the installation, which records the key it encrypts with. A diagnostic client may hold another
   * key. `@default` false
   */
  isProcess?: boolean;
  /** Audit key, at least 32 bytes. Without it the audit can be read, but neither appended to nor verified. */
  auditKey?: Uint8Array;
  /** Anchor that holds the tip of the transparency log; without it a truncated log goes unnoticed. */
  auditAnchor?: Anchor;
  /** Receives each unreadable document, once. `@default` none */
  onUnreadable?: (unreadable: Unreadable) => void;
  /** Time a call waits for an absent server before it fails with `store_unavailable`, ms. `@default` 3,000 */
  absenceMs?: number;
}

/**
 * Connects to MongoDB, or to the embedded store. The address names the database. `@default` database `mayfly`
 * @throws MayflyError store_unavailable; payload_key_unusable when the store is encrypted with a key that is not among
 * these
 * @throws RangeError when the audit key is too short
 */
export async function connectStore(uri: string, options: StoreOptions = {}): Promise<Store> {
  const { auditKey, auditAnchor = null } = options;
  const auditKeys = auditKey ? { chains: new ChainKey(auditKey), register: new RegisterKey(auditKey) } : null;
  const sealing = new StoreEncryption(options.keys ?? null, options.onUnreadable);
  const connection = await open(uri, sealing, options);
  const audit = auditKeys && {
    chains: auditKeys.chains,
    register: new TransparencyLog(connection, auditKeys.register, auditAnchor),
  };
  return {
    ...createRepositories(connection, sealing, audit),
    scanRecords: (withinMs) => scanRecords(connection, sealing, withinMs),
    ping: () => withStoreErrors('a ping', async () => void (await connection.db?.command({ ping: 1 }))),
    close: () => connection.close(),
  };
}

/** Creates the repositories of a store; their schemas mark the encrypted fields. */
export function createRepositories(connection: mongoose.Connection, sealing: StoreEncryption, audit: AuditKeys | null) {
  return {
    sandboxes: new Sandboxes(connection, sealing),
    pools: new Pools(connection, sealing),
    poolMembers: new PoolMembers(connection),
    poolShares: new PoolShares(connection, sealing),
    snapshots: new Snapshots(connection, sealing),
    captures: new Captures(connection, sealing),
    commands: new Commands(connection, sealing),
    commandInputs: new StoredCommandInputs(connection, sealing),
    output: new Output(connection, sealing),
    audit: new Audit(connection, sealing, audit),
    idempotency: new Idempotency(connection, sealing),
    mcpSessions: new McpSessions(connection, sealing),
    mcpEvents: new McpEvents(connection, sealing),
    exposedPorts: new ExposedPorts(connection, sealing),
    policies: new Policies(connection, sealing),
    approvals: new Approvals(connection, sealing),
    apiKeys: new ApiKeys(connection, sealing),
    projects: new Projects(connection, sealing),
    admissions: new Admissions(connection, sealing),
    hosts: new Hosts(connection, sealing),
    relays: new Relays(connection, sealing),
    measuredDisks: new MeasuredDisks(connection, sealing),
    periodicTasks: new PeriodicTasks(connection, sealing),
    serials: new Serials(connection, sealing),
    signers: new Signers(connection, sealing),
    sources: new Sources(connection, sealing),
    bakedSources: new BakedSources(connection, sealing),
    templates: new Templates(connection, sealing),
    images: new Images(connection, sealing),
    imageLayers: new ImageLayers(connection, sealing),
    imageContexts: new ImageContexts(connection, sealing),
    sentContexts: new UploadedContexts(connection, sealing),
    playbooks: new Playbooks(connection, sealing),
    playbookParts: new PlaybookParts(connection, sealing),
    functions: new Functions(connection, sealing),
    functionVersions: new FunctionVersions(connection, sealing),
    functionFiles: new FunctionFiles(connection, sealing),
    functionSetups: new FunctionSetups(connection, sealing),
    bulks: new Bulks(connection, sealing),
    hooks: new Hooks(connection, sealing),
    schedules: new Schedules(connection, sealing),
    scheduleTimes: new ScheduleTimes(connection, sealing),
    runs: new Runs(connection, sealing),
    runMembers: new RunMembers(connection, sealing),
    runQueue: new RunQueue(connection, sealing),
    waitingRuns: new SuspendedRuns(connection, sealing),
    gatheredRuns: new CollectedRuns(connection, sealing),
    uncheckedRuns: new UnvalidatedRuns(connection, sealing),
    runContents: new RunContents(connection, sealing),
    waitpoints: new Waitpoints(connection, sealing),
    secrets: new Secrets(connection, sealing),
    secretValues: new SecretValues(connection, sealing),
    secretUses: new SecretUses(connection, sealing),
    attemptSecrets: new AttemptSecrets(connection, sealing),
    pastRuns: new RunRetention(connection, sealing),
    untoldRuns: new UnpublishedRuns(connection, sealing),
    webhookEndpoints: new WebhookEndpoints(connection, sealing),
    webhookDeliveries: new WebhookDeliveries(connection, sealing),
    receipts: new Receipts(connection, sealing),
    receiptKeys: new ReceiptKeys(connection, sealing),
    certificates: new Certificates(connection, sealing),
    activity: new Activities(connection, sealing),
    reconciled: new ReconcileOutcomes(connection, sealing),
    retention: new Retention({ connection, sealing }),
    auditRetention: new AuditRetention({ connection, sealing }, audit),
  };
}

async function open(
  uri: string,
  sealing: StoreEncryption,
  { absenceMs, isProcess = false }: StoreOptions,
): Promise<mongoose.Connection> {
  const connection = await openConnection(uri, absenceMs);
  try {
    await createIndexes(connection);
    await sealing.check(connection, isProcess);
    return connection;
  } catch (error) {
    await connection.close();
    if (error instanceof MayflyError) throw error;
    throw new MayflyError('store_unavailable', 'No connection to the store that MONGODB_URI names.', { cause: error });
  }
}
