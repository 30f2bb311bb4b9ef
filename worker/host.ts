import type { DataConverter } from '@temporalio/common';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { createHostActivities, type HostDeps } from '../activities/host.ts';
import type { Failpoints } from '../host/failpoints.ts';
import { KeyedMutex } from '../host/os/keyed-mutex.ts';
import { hostQueue } from '../model/sagas/queues.ts';
import { hostInterceptor } from './activity-interceptors.ts';
import { ShutdownInterceptor } from './hand-back.ts';
import { IdCheck } from './id-check.ts';
import { STOP_MS } from './stop-watch.ts';
import { requestIdOfActivity } from './tracing/request-id.ts';
import type { Tracing } from './tracing/trace-parts.ts';

interface HostWorkerOptions extends HostDeps {
  connection: NativeConnection;
  namespace: string;
  dataConverter: DataConverter;
  failpoints: Failpoints;
  /** `@default` none */
  tracing?: Tracing;
  /** Serializes the steps of one sandbox. `@default` one of its own */
  mutex?: KeyedMutex;
  /** Grace period of running steps on shutdown. `@default` {@link STOP_MS} */
  shutdownGraceMs?: number;
}

/** Creates the worker of one machine's activities. It serves the queue of its installation. */
export function createHostWorker(options: HostWorkerOptions): Promise<Worker> {
  const { connection, namespace, dataConverter, observer, failpoints, tracing } = options;
  const { shutdownGraceMs = STOP_MS.grace, mutex = new KeyedMutex() } = options;
  const taskQueue = hostQueue(observer);
  return Worker.create({
    connection,
    namespace,
    dataConverter,
    taskQueue,
    activities: createHostActivities(options),
    interceptors: {
      activity: [
        requestIdOfActivity,
        ...(tracing?.activity ?? []),
        () => ({ inbound: new IdCheck() }),
        (context) => ({ inbound: new ShutdownInterceptor(context) }),
        (context) => ({ inbound: hostInterceptor(context, failpoints, mutex, taskQueue) }),
      ],
    },
    // Most of a create, and all of a command, is waiting for a guest; waiting steps must not block a cleanup.
    maxConcurrentActivityTaskExecutions: 10_000,
    shutdownGraceTime: shutdownGraceMs,
  });
}
