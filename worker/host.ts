import { type NativeConnection, Worker } from '@temporalio/worker';
import { createHostActivities, type HostDeps } from '../activities/host.ts';
import type { Failpoints } from '../host/failpoints.ts';
import { KeyedMutex } from '../host/os/keyed-mutex.ts';
import { hostQueue } from '../model/sagas/queues.ts';
import { hostInterceptor } from './activity-interceptors.ts';
import { HandBackInterceptor } from './hand-back.ts';
import { STOP_MS } from './stop-watch.ts';
import { requestIdOfActivity } from './tracing/request-id.ts';
import type { Tracing } from './tracing/tracing.ts';

export interface HostWorkerOptions extends HostDeps {
  hostId: string;
  connection: NativeConnection;
  namespace: string;
  failpoints: Failpoints;
  /** `@default` none */
  tracing?: Tracing;
  /** Holds the steps of one sandbox apart. `@default` one of its own */
  mutex?: KeyedMutex;
  /** How long steps may go on when it is stopped. `@default` {@link STOP_MS} */
  shutdownGraceMs?: number;
}

/** The worker of one machine: everything that touches it. */
export function createHostWorker(options: HostWorkerOptions): Promise<Worker> {
  const {
    connection,
    namespace,
    hostId,
    failpoints,
    shutdownGraceMs = STOP_MS.grace,
    mutex = new KeyedMutex(),
    tracing,
  } = options;
  return Worker.create({
    connection,
    namespace,
    taskQueue: hostQueue(hostId),
    activities: createHostActivities(options),
    interceptors: {
      activity: [
        requestIdOfActivity,
        ...(tracing?.activity ?? []),
        (context) => ({ inbound: new HandBackInterceptor(context) }),
        (context) => ({ inbound: hostInterceptor(context, failpoints, mutex) }),
      ],
    },
    // Most of a create is waiting for a guest, and all of a command; waiting ones must not keep a cleanup out.
    maxConcurrentActivityTaskExecutions: 10_000,
    shutdownGraceTime: shutdownGraceMs,
  });
}
