import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import type { Logger } from 'pino';
import { Announcer, LOOK_AT_WEBHOOKS_EVERY_MS } from '../activities/webhook/announcer.ts';
import { DispatcherBell } from '../api/acceptance/dispatcher-bell.ts';
import { InputSchemas } from '../api/functions/schema/input-schemas.ts';
import { UserCa } from '../ca/user-ca.ts';
import { repeating } from '../host/os/repeating.ts';
import { Reconciliation } from '../sagas/reconciliation.ts';
import { ScheduleEngine } from '../sagas/schedules.ts';
import type { Store } from '../store/connect.ts';
import { AddressPolicy } from '../webhooks/sending/address-policy.ts';
import { auditAccess } from './audit/audit-access.ts';
import { NOTE_EVERY_MS, RegisterWatch } from './audit/register-watch.ts';
import { bundleWorkflows } from './bundle.ts';
import { createControlWorker, createDeliveryWorker } from './control.ts';
import { temporalClient } from './payloads/data-converter.ts';
import { connectProcessStore, type Process } from './process.ts';
import { ReceiptWatch, SIGN_EVERY_MS } from './receipts/receipt-watch.ts';
import { runWorkers } from './running-worker.ts';
import { LOOK_AT_SCHEDULES_EVERY_MS, ScheduleKeeper } from './schedules/schedule-keeper.ts';
import { LOOK_AT_SETUPS_EVERY_MS, RELEASE_SETUPS_EVERY_MS, Setups } from './setups/setups.ts';
import { AUDIT_COMPLETIONS_EVERY_MS, CompletedWaitpoints } from './upkeep/functions/completed-waitpoints.ts';
import { KeptFailures, LOOK_AT_KEPT_EVERY_MS } from './upkeep/functions/kept-failures.ts';
import { CHECK_EVERY_MS, LateChecks } from './upkeep/functions/late-checks.ts';
import { LeftSandboxes, LOOK_FOR_LEFT_EVERY_MS } from './upkeep/functions/left-sandboxes.ts';
import { hasOpenSaga } from './upkeep/open-sagas.ts';
import { keepReconciling } from './upkeep/reconcile.ts';
import { passMs, RetentionPass } from './upkeep/retention.ts';
import { LOOK_AT_QUEUES_EVERY_MS, RunQueues } from './upkeep/run-queues.ts';
import { APPEND_WAITING_EVERY_MS, WaitingAudit } from './upkeep/waiting-audit.ts';

/** Entries live 24 h (model/limits.ts), so an hour more of one is nothing. Milliseconds. */
const PRUNE_EVERY_MS = 3_600_000;
/** How long after its end a certificate is listed: 30 days. Milliseconds. */
const CERTIFICATES_KEPT_MS = 30 * 24 * 3_600_000;

export interface ControlPart {
  store: Store;
  ended: Promise<void>;
}

/** Opens the audit key and the user CA, which are nowhere else, and runs the control worker. */
export async function startControlPart({
  config,
  storeUri,
  connection,
  dataConverter,
  keys,
  logger,
  failpoints,
  closers,
  tracing,
}: Process): Promise<ControlPart> {
  const secrets = join(config.stateDir, 'control');
  const access = await auditAccess(config.stateDir);
  const ca = await UserCa.open(join(secrets, 'ca'));
  const store = await connectProcessStore({ storeUri, keys, logger }, access);
  closers.add("the control worker's store", () => store.close());
  const waitingAudit = new WaitingAudit(store, logger);
  closers.add(
    'pruning',
    repeating(() => prune(store, logger), PRUNE_EVERY_MS),
  );
  const namespace = config.temporalNamespace;
  const client = temporalClient({ connection, namespace, dataConverter });
  const settings = config.retention;
  const isOpen = (sandboxId: string) => hasOpenSaga(client, sandboxId);
  const retention = new RetentionPass({ store, settings, isOpen, logger });
  closers.add(
    'retention',
    repeating((signal) => retention.run(signal), passMs(settings)),
  );
  const queues = new RunQueues(store, new Reconciliation(client), logger);
  closers.add(
    'queues of functions',
    repeating(() => queues.look(), LOOK_AT_QUEUES_EVERY_MS),
  );
  const setups = new Setups(store, new Reconciliation(client), logger);
  closers.add(
    'setups of functions',
    repeating(() => setups.look(), LOOK_AT_SETUPS_EVERY_MS),
  );
  closers.add(
    'setups that nobody needs',
    repeating(() => setups.release(), RELEASE_SETUPS_EVERY_MS),
  );
  const schedules = new ScheduleKeeper(store, new ScheduleEngine(client), logger);
  closers.add(
    'schedules of functions',
    repeating(() => schedules.look(), LOOK_AT_SCHEDULES_EVERY_MS),
  );
  closers.add(
    'times of the past',
    repeating(() => schedules.removePast(), PRUNE_EVERY_MS),
  );
  const receipts = new ReceiptWatch(store, join(secrets, 'receipt.key'), logger);
  closers.add(
    'receipts of runs',
    repeating(() => receipts.look(), SIGN_EVERY_MS),
  );
  closers.add(
    'runs of the past',
    repeating(() => queues.removePast(), PRUNE_EVERY_MS),
  );
  const kept = new KeptFailures(store, new Reconciliation(client), logger);
  closers.add(
    'what is kept of failed runs',
    repeating(() => kept.look(), LOOK_AT_KEPT_EVERY_MS),
  );
  const left = new LeftSandboxes(store, new Reconciliation(client), logger);
  closers.add(
    'sandboxes of runs that are over',
    repeating(() => left.look(), LOOK_FOR_LEFT_EVERY_MS),
  );
  const completions = new CompletedWaitpoints(store, logger);
  closers.add(
    'completed waitpoints',
    repeating(() => completions.look(), AUDIT_COMPLETIONS_EVERY_MS),
  );
  const announcer = new Announcer(store, new Reconciliation(client));
  const later = (error: unknown) => logger.warn({ err: error }, 'webhooks are looked at again in a second');
  closers.add(
    'webhooks that nobody sends',
    repeating(() => announcer.look(later), LOOK_AT_WEBHOOKS_EVERY_MS),
  );
  closers.add(
    'events that wait for the audit',
    repeating(() => waitingAudit.look(), APPEND_WAITING_EVERY_MS),
  );
  const registerWatch = new RegisterWatch(store, logger);
  await registerWatch.look(); // before anything is appended: chains that are there are not taken for new ones
  const stopWatch = repeating(() => registerWatch.look(), NOTE_EVERY_MS);
  closers.add('the register of the audit', async () => {
    await stopWatch();
    await registerWatch.look();
  });
  const schemas = new InputSchemas();
  closers.add('schemas of functions', () => schemas.close());
  const bell = new DispatcherBell(new Reconciliation(client), logger);
  const checks = new LateChecks(store, schemas, bell, logger);
  closers.add(
    'events that were accepted unchecked',
    repeating((signal) => checks.look(signal), CHECK_EVERY_MS),
  );
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

/** Removes what is past. */
async function prune(
  { idempotency, certificates, mcpSessions, mcpEvents, approvals, webhookDeliveries }: Store,
  logger: Logger,
): Promise<void> {
  const before = new Date(Date.now() - CERTIFICATES_KEPT_MS).toISOString();
  try {
    const [keys, ended, sessions, events, asked, deliveries] = await Promise.all([
      idempotency.prune(),
      certificates.prune(before),
      mcpSessions.prune(),
      mcpEvents.prune(),
      approvals.prune(),
      webhookDeliveries.prune(),
    ]);
    logger.debug({ keys, ended, sessions, events, asked, deliveries }, 'removed what is past');
  } catch (error) {
    logger.warn({ err: error }, 'what is past stays for another hour');
  }
}
