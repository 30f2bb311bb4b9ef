import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from 'pino';
import { WebhookPublisher } from '../activities/webhook/announcer.ts';
import { UserCa } from '../ca/user-ca.ts';
import { setIntervalAsync } from '../host/os/repeating.ts';
import { recordEventsWorkflowId } from '../model/sagas/messages.ts';
import { DispatcherNotifier } from '../services/intake/acceptance.ts';
import { InputSchemas } from '../services/schema/input-schemas.ts';
import { AddressPolicy } from '../services/webhooks/sending/address-policy.ts';
import type { Store } from '../store/connect.ts';
import { ControlTemporalClient } from '../temporal/reconciliation.ts';
import { ApiTemporalClient } from '../temporal/temporal-sagas.ts';
import { auditAccess } from './audit/audit-access.ts';
import { RECORD_INTERVAL_MS, TransparencyRecorder } from './audit/register-watch.ts';
import { bundleWorkflows } from './bundle.ts';
import type { RetentionSettings } from './config/config.ts';
import { createControlWorker, createDeliveryWorker } from './control.ts';
import { temporalClient } from './payloads/data-converter.ts';
import { connectProcessStore, type Process } from './process.ts';
import { ReceiptSigner } from './receipts/receipt-watch.ts';
import { runWorkers } from './running-worker.ts';
import { SetupPoller } from './setups/setups.ts';
import { WaitpointAudit } from './upkeep/functions/completed-waitpoints.ts';
import { RetentionExpiry } from './upkeep/functions/kept-failures.ts';
import { DeferredValidation } from './upkeep/functions/late-checks.ts';
import { OrphanedRunSandboxes } from './upkeep/functions/left-sandboxes.ts';
import { QUEUE_POLL_MS, RunQueuePoller } from './upkeep/functions/run-queues.ts';
import { ScheduleKeeper } from './upkeep/functions/schedule-keeper.ts';
import { type PeriodicTask, startPeriodicTasks } from './upkeep/periodic-tasks.ts';
import { keepReconciling } from './upkeep/reconcile.ts';
import { passIntervalMs, RetentionPass } from './upkeep/retention.ts';
import { PendingAudit } from './upkeep/waiting-audit.ts';

/** Interval of pruning, ms: small against the 24 h that entries live (model/limits.ts). */
const PRUNE_EVERY_MS = 3_600_000;
/** Retention of certificates in the list after they expire: 30 days, ms. */
const CERTIFICATE_RETENTION_MS = 30 * 24 * 3_600_000;

interface ControlPart {
  store: Store;
  ended: Promise<void>;
}

/** Opens the audit key and the user CA, which only this part has, and runs the control worker. */
export async function startControlPart(process: Process): Promise<ControlPart> {
  const { config, connection, dataConverter, logger, failpoints, closers, tracing } = process;
  const secrets = join(config.stateDir, 'control');
  const access = await auditAccess(config.stateDir);
  const ca = await UserCa.open(join(secrets, 'ca'));
  const store = await connectProcessStore(process, access);
  closers.add("the control worker's store", () => store.close());
  const namespace = config.temporalNamespace;
  const client = temporalClient({ connection, namespace, dataConverter });
  const registerWatch = new TransparencyRecorder(store, logger);
  await registerWatch.look(); // before the first append: otherwise existing chains would count as new
  const stopWatch = setIntervalAsync(() => registerWatch.look(), RECORD_INTERVAL_MS);
  closers.add('the register of the audit', async () => {
    await stopWatch();
    await registerWatch.look();
  });
  const schemas = new InputSchemas();
  closers.add('schemas of functions', () => schemas.close());
  const parts = {
    store,
    client,
    logger,
    schemas,
    settings: config.retention,
    receiptKey: join(secrets, 'receipt.key'),
  };
  startPeriodicTasks(periodicTasks(parts), store.periodicTasks, closers, logger);
  const workflowBundle = await bundleWorkflows(new DefaultLogger('WARN'), tracing.workflowModules);
  const shared = { connection, namespace, dataConverter, store, failpoints, tracing };
  const network = { policy: new AddressPolicy(config.webhookAllow) };
  const worker = runWorkers([
    await createControlWorker({ ...shared, ca, schemas, workflowBundle }),
    await createDeliveryWorker({ ...shared, network }),
  ]);
  closers.add(
    'control worker',
    () => worker.stop(),
    () => worker.beginStop(),
  );
  closers.add('reconciliations', await keepReconciling({ client, connection, config, logger }));
  return { store, ended: worker.ended };
}

interface Parts {
  store: Store;
  client: Client;
  logger: Logger;
  schemas: InputSchemas;
  settings: RetentionSettings;
  /** Path of the key that signs receipts. */
  receiptKey: string;
}

function periodicTasks({ store, client, logger, schemas, settings, receiptKey }: Parts): PeriodicTask[] {
  const reconciliation = new ControlTemporalClient(client);
  const sagas = new ApiTemporalClient(client, { callMs: 5_000 });
  const isOpen = async (sandboxId: string) =>
    (await sagas.sandboxes.isOpen(sandboxId)) || sagas.isOpen(recordEventsWorkflowId(sandboxId));
  const retention = new RetentionPass({ store, settings, isOpen, logger });
  const queues = new RunQueuePoller(store, reconciliation, logger);
  const setups = new SetupPoller(store, reconciliation);
  const schedules = new ScheduleKeeper(store, reconciliation.schedules, logger);
  const receipts = new ReceiptSigner(store, receiptKey, logger);
  const kept = new RetentionExpiry(store, reconciliation);
  const left = new OrphanedRunSandboxes(store, reconciliation, logger);
  const completions = new WaitpointAudit(store);
  const announcer = new WebhookPublisher(store, reconciliation);
  const logUnpublished = (error: unknown) => logger.warn({ err: error }, 'webhook not announced');
  const waitingAudit = new PendingAudit(store, logger);
  const checks = new DeferredValidation(store, schemas, new DispatcherNotifier(reconciliation, logger), logger);
  return [
    { name: 'pruning', everyMs: PRUNE_EVERY_MS, run: () => pruneExpired(store) },
    { name: 'retention', everyMs: passIntervalMs(settings), run: (signal) => retention.run(signal) },
    { name: 'function queues', everyMs: QUEUE_POLL_MS, run: () => queues.look() },
    { name: 'function setups', everyMs: 3_000, run: () => setups.look() },
    { name: 'unused function setups', everyMs: 60_000, run: () => setups.release() },
    { name: 'changed schedules', everyMs: 1_000, run: () => schedules.wake() },
    { name: 'schedule workflows', everyMs: 60_000, run: () => schedules.ensure() },
    { name: 'past schedule times', everyMs: PRUNE_EVERY_MS, run: () => schedules.removePast() },
    { name: 'receipts', everyMs: 1_000, run: () => receipts.look() },
    { name: 'past runs', everyMs: PRUNE_EVERY_MS, run: () => queues.removePast() },
    { name: 'kept failures', everyMs: 60_000, run: () => kept.look() },
    { name: 'orphaned run sandboxes', everyMs: 60_000, run: () => left.look() },
    { name: 'waitpoint audit', everyMs: 2_000, run: () => completions.look() },
    { name: 'webhooks', everyMs: 1_000, run: () => announcer.look(logUnpublished) },
    { name: 'waiting audit', everyMs: 5_000, run: () => waitingAudit.look() },
    { name: 'deferred event checks', everyMs: 1_000, run: (signal) => checks.look(signal) },
  ];
}

function pruneExpired({ idempotency, certificates, mcpSessions, mcpEvents, approvals, webhookDeliveries }: Store) {
  const before = new Date(Date.now() - CERTIFICATE_RETENTION_MS).toISOString();
  return Promise.all([
    idempotency.prune(),
    certificates.prune(before),
    mcpSessions.prune(),
    mcpEvents.prune(),
    approvals.prune(),
    webhookDeliveries.prune(),
  ]);
}
