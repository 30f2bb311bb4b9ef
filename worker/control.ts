import type { DataConverter } from '@temporalio/common';
import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import { type ControlDeps, createControlActivities } from '../activities/control.ts';
import type { AcceptEvent } from '../activities/function/schedule.ts';
import { withHeartbeats } from '../activities/step/step-context.ts';
import { WebhookPublisher } from '../activities/webhook/announcer.ts';
import { createDeliveryActivities } from '../activities/webhook/deliver.ts';
import type { Failpoints } from '../host/failpoints.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { DeliveryRetryPolicy } from '../model/webhooks/delivery-plan.ts';
import { WEBHOOK_QUEUE } from '../model/webhooks/delivery-saga.ts';
import { ingestEvent, sha256 } from '../services/intake/accept-event.ts';
import { FunctionCache } from '../services/intake/function-cache.ts';
import { createReplays } from '../services/runs/replay-run.ts';
import { InputSchemas } from '../services/schema/input-schemas.ts';
import { AddressPolicy } from '../services/webhooks/sending/address-policy.ts';
import { type Network, post } from '../services/webhooks/sending/post.ts';
import { ControlTemporalClient } from '../temporal/reconciliation.ts';
import { FailpointInterceptor } from './activity-interceptors.ts';
import { ShutdownInterceptor } from './hand-back.ts';
import { IdCheck } from './id-check.ts';
import { createWorkflowConverter, temporalClient } from './payloads/data-converter.ts';
import { QueuedActivities } from './queued-activities.ts';
import { STOP_MS } from './stop-watch.ts';
import { requestIdOfActivity } from './tracing/request-id.ts';
import type { Tracing } from './tracing/trace-parts.ts';

interface ControlWorkerOptions
  extends Omit<ControlDeps, 'reconciliation' | 'acceptEvent' | 'digestOf' | 'acceptAgain'> {
  connection: NativeConnection;
  namespace: string;
  dataConverter: DataConverter;
  workflowBundle: WorkflowBundle;
  failpoints: Failpoints;
  /** `@default` none */
  tracing?: Tracing;
  /** `@default` its own */
  schemas?: InputSchemas;
  /** `@default` CONTROL_QUEUE */
  taskQueue?: string;
}

/** Creates the worker of workflows, the store and the user CA. */
export function createControlWorker(options: ControlWorkerOptions): Promise<Worker> {
  const { connection, namespace, dataConverter, workflowBundle, failpoints, tracing } = options;
  const reconciliation = new ControlTemporalClient(temporalClient({ connection, namespace, dataConverter }));
  const schemas = options.schemas ?? new InputSchemas();
  const accept: AcceptEvent = (store, target, arrival) => ingestEvent(store, schemas, target, arrival);
  const functions = new FunctionCache();
  const acceptAgain = createReplays({
    target: (stores, name) => functions.get(stores, name),
    accept: ({ store }, target, arrival) => ingestEvent(store, schemas, target, arrival),
  });
  return Worker.create({
    connection,
    namespace,
    dataConverter: createWorkflowConverter(dataConverter),
    taskQueue: options.taskQueue ?? CONTROL_QUEUE,
    workflowBundle,
    activities: createControlActivities({
      ...options,
      reconciliation,
      acceptEvent: accept,
      digestOf: sha256,
      acceptAgain,
    }),
    interceptors: {
      activity: [
        requestIdOfActivity,
        ...(tracing?.activity ?? []),
        () => ({ inbound: new IdCheck() }),
        (context) => ({ inbound: new QueuedActivities(context) }),
        (context) => ({ inbound: new ShutdownInterceptor(context) }),
        (context) => ({ inbound: new FailpointInterceptor(context, failpoints) }),
      ],
    },
    maxCachedWorkflows: 2_000,
    // Moves a dead control worker's workflows to another after this time, instead of after 10 s.
    stickyQueueScheduleToStartTimeout: '2s',
    sinks: tracing?.sinks ?? {},
    shutdownGraceTime: STOP_MS.grace,
  });
}

export interface DeliveryWorkerOptions
  extends Pick<
    ControlWorkerOptions,
    'connection' | 'namespace' | 'dataConverter' | 'store' | 'failpoints' | 'tracing'
  > {
  /** Address policy and connections. `@default` public addresses only */
  network?: Network;
  /** `@default` the times of docs/events.md */
  plan?: DeliveryRetryPolicy;
}

/** Limit of one process for all endpoints together; each endpoint has a few. */
const AT_ONCE = 1_000;

/** Creates the worker of requests to webhook endpoints. */
export function createDeliveryWorker(options: DeliveryWorkerOptions): Promise<Worker> {
  const { connection, namespace, dataConverter, store, failpoints, tracing } = options;
  const network = options.network ?? { policy: new AddressPolicy() };
  const reconciliation = new ControlTemporalClient(temporalClient({ connection, namespace, dataConverter }));
  const announcer = new WebhookPublisher(store, reconciliation);
  const plan = options.plan ?? new DeliveryRetryPolicy();
  return Worker.create({
    connection,
    namespace,
    dataConverter,
    taskQueue: WEBHOOK_QUEUE,
    activities: createDeliveryActivities({ store, announcer, plan, send: (posted) => post(posted, network) }),
    interceptors: {
      activity: [
        requestIdOfActivity,
        ...(tracing?.activity ?? []),
        () => ({ inbound: new IdCheck() }),
        (context) => ({ inbound: new ShutdownInterceptor(context) }),
        (context) => ({ inbound: { execute: (input, next) => withHeartbeats('sending', () => next(input), context) } }),
        (context) => ({ inbound: new FailpointInterceptor(context, failpoints) }),
      ],
    },
    maxConcurrentActivityTaskExecutions: AT_ONCE,
    shutdownGraceTime: STOP_MS.grace,
  });
}
