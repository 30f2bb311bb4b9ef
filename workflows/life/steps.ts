import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { SignedCertificate } from '../../activities/access/certificate.ts';
import type { ControlActivities } from '../../activities/control.ts';
import type { HostActivities } from '../../activities/host.ts';
import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { control } from '../saga/control.ts';
import { hostActivities } from '../saga/host-activities.ts';
import type { Life } from './life.ts';
import { retryUntilDone, retryUntilDoneOrLeft } from './retry-until-done.ts';

export const CREATE_GENERATION = 1;

/** Of the n-th operation on a sandbox, n from 1; its undos have the next. */
export function operationGeneration(n: number): number {
  return 2 * n;
}

/** Placement goes through the queue, so that the request is answered before it begins. */
export const placement = proxyActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s', maximumAttempts: 5 },
});

/**
 * A step of a saga: tried a few times within its time, then its failure is the saga's. A cancel does not wait
 * for a running attempt; the host stops it when the first undo arrives.
 */
export function stepOptions(life: Life, withinMs: number, summary: string): ActivityOptions {
  return {
    summary,
    scheduleToStartTimeout: life.timeouts.hostDownMs,
    startToCloseTimeout: withinMs,
    scheduleToCloseTimeout: withinMs + life.timeouts.hostDownMs,
    heartbeatTimeout: life.timeouts.heartbeatMs,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 8 },
  };
}

/**
 * How long a boot may take. What comes from a snapshot may wake with saved memory: that is copied and read, and the
 * sandbox's workflow does not know whether it will be.
 */
export function bootMs({ record, timeouts }: Life, generation: number): number {
  const mayWake = (record.spec.snapshotId ?? null) !== null || generation !== CREATE_GENERATION;
  return mayWake ? Math.max(timeouts.bootDomainMs, timeouts.hibernateMs) : timeouts.bootDomainMs;
}

/** Steps of a sandbox on its host: `step(withinMs, summary).bootDomain(…)`; operators read the summary in the Temporal UI. */
export function stepsWithin(life: Life, hostId: string): (withinMs: number, summary: string) => HostActivities {
  return (withinMs, summary) =>
    hostActivities(hostId, (name, execute) => life.timed(name, () => execute(stepOptions(life, withinMs, summary))));
}

type Retry = (life: Life, what: string, run: (options: ActivityOptions) => Promise<unknown>) => Promise<unknown>;

/** Steps that are retried until they are done. */
export function stepsUntilDone(
  life: Life,
  hostId: string,
  summary: string,
  retry: Retry = retryUntilDone,
): HostActivities {
  return hostActivities(hostId, (name, execute) =>
    life.timed(name, () => retry(life, `${name} on host ${hostId}`, (options) => execute({ ...options, summary }))),
  );
}

/** How a sandbox whose disks are there starts, and how it is known to work. */
export function startSteps(life: Life, hostId: string, generation = CREATE_GENERATION) {
  const { id, timeouts } = life;
  const { spec, createdBy } = life.record;
  const target = { sandboxId: id, generation };
  const step = stepsWithin(life, hostId);
  return {
    bootDomain: () => step(bootMs(life, generation), `${id} on ${hostId}`).bootDomain(target),
    signCertificate: (publicKey: string): Promise<SignedCertificate> =>
      life.timed('signCertificate', () =>
        control.signCertificate({ sandboxId: id, source: spec.source, actor: createdBy, publicKey }),
      ),
    awaitIp: () => step(timeouts.awaitIpMs, `DHCP lease of ${id}`).awaitIp(target),
    verifySsh: (endpoint: SshEndpoint, certificate: string) =>
      step(timeouts.verifySshMs, `${endpoint.user}@${endpoint.address}:${endpoint.port}`).verifySsh({
        ...target,
        endpoint,
        certificate,
      }),
  };
}

/** How a host is rid of a sandbox, layer by layer. Who does not want them left off shields them: saga.ts does. */
export function cleanupSteps(life: Life, hostId: string) {
  const { id } = life;
  const gone = { sandboxId: id, generation: CLEANUP_GENERATION };
  const cleanup = stepsUntilDone(life, hostId, `${id} · ${hostId}`, retryUntilDoneOrLeft);
  const proof = hostActivities(hostId, (name, execute) =>
    retryUntilDoneOrLeft(life, `${name} on host ${hostId}`, (options) =>
      execute({ ...options, summary: `${id} · ${hostId}: is anything left?` }),
    ),
  );
  return {
    hostId,
    removeCredentials: () => cleanup.removeCredentials(gone),
    removeDomain: () => cleanup.removeDomain(gone),
    releaseLease: () => cleanup.releaseLease(gone),
    removeWorkspace: () => cleanup.removeWorkspace(gone),
    releaseReservation: () => cleanup.releaseReservation(gone),
    lookAgain: () => proof.lookAgain(gone),
  };
}

export type CleanupSteps = ReturnType<typeof cleanupSteps>;
