import type { DataConverter } from '@temporalio/common';
import { type NativeConnection, Worker, type WorkflowBundle } from '@temporalio/worker';
import { type ControlDeps, createControlActivities } from '../activities/control.ts';
import type { AcceptEvent } from '../activities/function/scheduled.ts';
import { InputSchemas } from '../api/functions/schema/input-schemas.ts';
import { acceptAgainBy } from '../api/replays/replay-run.ts';
import { acceptEvent, sha256 } from '../api/runs/accept-event.ts';
import { KnownFunctions } from '../api/runs/known-functions.ts';
import type { Failpoints } from '../host/failpoints.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { Reconciliation } from '../sagas/reconciliation.ts';
import { FailpointInterceptor } from './activity-interceptors.ts';
import { HandBackInterceptor } from './hand-back.ts';
import { IdCheck } from './id-check.ts';
import { temporalClient } from './payloads/data-converter.ts';
import { QueuedActivities } from './queued-activities.ts';
import { STOP_MS } from './stop-watch.ts';
import { requestIdOfActivity } from './tracing/request-id.ts';
import type { Tracing } from './tracing/tracing.ts';

export interface ControlWorkerOptions
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

/** The worker of workflows, the store and the user CA. */
export function createControlWorker(options: ControlWorkerOptions): Promise<Worker> {
  const { connection, namespace, dataConverter, workflowBundle, failpoints, tracing } = options;
  const reconciliation = new Reconciliation(temporalClient({ connection, namespace, dataConverter }));
  const schemas = options.schemas ?? new InputSchemas();
  const accept: AcceptEvent = (store, target, arrival) => acceptEvent(store, schemas, target, arrival);
  const functions = new KnownFunctions();
  const acceptAgain = acceptAgainBy({
    target: (stores, name) => functions.get(stores, name),
    accept: ({ store }, target, arrival) => acceptEvent(store, schemas, target, arrival),
  });
  return Worker.create({
    connection,
    namespace,
    dataConverter,
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
        (context) => ({ inbound: new HandBackInterceptor(context) }),
        (context) => ({ inbound: new FailpointInterceptor(context, failpoints) }),
      ],
    },
    maxCachedWorkflows: 2_000,
    // A dead control worker's workflows move to another after this, instead of after 10 s.
    stickyQueueScheduleToStartTimeout: '2s',
    sinks: tracing?.sinks ?? {},
    shutdownGraceTime: STOP_MS.grace,
  });
}
