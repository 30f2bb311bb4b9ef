import type { DataConverter } from '@temporalio/common';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { createHostActivities, type HostDeps } from '../activities/host.ts';
import type { Failpoints } from '../host/failpoints.ts';
import { KeyedMutex } from '../host/os/keyed-mutex.ts';
import { hostQueue } from '../model/sagas/queues.ts';
import { hostInterceptor } from './activity-interceptors.ts';
import { HandBackInterceptor } from './hand-back.ts';
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
  /** Holds the steps of one sandbox apart. `@default` one of its own */
  mutex?: KeyedMutex;
  /** How long steps may go on when it is stopped. `@default` {@link STOP_MS} */
  shutdownGraceMs?: number;
}

/** Makes the worker of one machine: everything that touches it. It serves the queue of its installation. */
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
        (context) => ({ inbound: new HandBackInterceptor(context) }),
        (context) => ({ inbound: hostInterceptor(context, failpoints, mutex, taskQueue) }),
      ],
    },
    // Most of a create is waiting for a guest, and all of a command; waiting ones must not keep a cleanup out.
    maxConcurrentActivityTaskExecutions: 10_000,
    shutdownGraceTime: shutdownGraceMs,
  });
}
