import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { SignedCertificate } from '../../activities/access/certificate.ts';
import type { ControlActivities } from '../../activities/control.ts';
import type { HostActivities } from '../../activities/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import { control } from '../saga/control.ts';
import type { Life } from './life.ts';
import { retryUntilDone } from './retry-until-done.ts';

export const CREATE_GENERATION = 1;
/** Beyond all operations, also for a workflow that takes over and does not know how many there were. */
export const CLEANUP_GENERATION = 1_000_000_000;

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

/** The steps of one sandbox on one host, each with the line that operators read in the Temporal UI. */
export function hostSteps(life: Life, hostId: string, generation = CREATE_GENERATION) {
  const { id, timeouts } = life;
  const { spec, createdBy } = life.record;
  const host = proxyActivities<HostActivities>({
    taskQueue: hostQueue(hostId),
    startToCloseTimeout: timeouts.cleanupMs,
  });
  const target = { sandboxId: id, generation };
  const gone = { sandboxId: id, generation: CLEANUP_GENERATION };
  const create = (withinMs: number, summary: string) => stepOptions(life, withinMs, summary);
  const cleanup =
    (step: 'removeCredentials' | 'removeDomain' | 'releaseLease' | 'removeWorkspace' | 'releaseReservation') => () =>
      life.timed(step, () =>
        retryUntilDone(life, `${step} on host ${hostId}`, (options) =>
          host[step].executeWithOptions({ ...options, summary: `${id} · ${hostId}` }, [gone]),
        ),
      );

  return {
    hostId,
    reserve: () =>
      life.timed('reserve', () =>
        host.reserve.executeWithOptions(create(timeouts.reserveMs, `${id} on ${hostId}`), [
          { ...target, source: spec.source, snapshotId: spec.snapshotId ?? null, memoryMib: spec.memoryMib },
        ]),
      ),
    cloneDisk: (userCaKeys: string[]) =>
      life.timed('cloneDisk', () =>
        host.cloneDisk.executeWithOptions(
          create(timeouts.cloneDiskMs, `${spec.snapshotId ?? spec.captureId ?? spec.source} → ${id}`),
          [
            {
              ...target,
              source: spec.source,
              snapshotId: spec.snapshotId ?? null,
              captureId: spec.captureId ?? null,
              cpus: spec.cpus,
              memoryMib: spec.memoryMib,
              egress: spec.network.egress,
              userCaKeys,
            },
          ],
        ),
      ),
    bootDomain: () =>
      life.timed('bootDomain', () =>
        host.bootDomain.executeWithOptions(create(bootMs(life, generation), `${id} on ${hostId}`), [target]),
      ),
    signCertificate: (publicKey: string): Promise<SignedCertificate> =>
      life.timed('signCertificate', () =>
        control.signCertificate({ sandboxId: id, source: spec.source, actor: createdBy, publicKey }),
      ),
    awaitIp: () =>
      life.timed('awaitIp', () =>
        host.awaitIp.executeWithOptions(create(timeouts.awaitIpMs, `DHCP lease of ${id}`), [target]),
      ),
    verifySsh: (endpoint: SshEndpoint, certificate: string) =>
      life.timed('verifySsh', () =>
        host.verifySsh.executeWithOptions(
          create(timeouts.verifySshMs, `${endpoint.user}@${endpoint.address}:${endpoint.port}`),
          [{ ...target, endpoint, certificate }],
        ),
      ),

    removeCredentials: cleanup('removeCredentials'),
    removeDomain: cleanup('removeDomain'),
    releaseLease: cleanup('releaseLease'),
    removeWorkspace: cleanup('removeWorkspace'),
    releaseReservation: cleanup('releaseReservation'),
    lookAgain: async (): Promise<Observation[]> => {
      const { observations } = await retryUntilDone(life, `lookAgain on host ${hostId}`, (options) =>
        host.lookAgain.executeWithOptions({ ...options, summary: `${id} · ${hostId}: is anything left?` }, [gone]),
      );
      return observations;
    },
  };
}

export type HostSteps = ReturnType<typeof hostSteps>;
