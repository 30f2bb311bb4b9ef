import { ActivityCancellationType, type ActivityOptions, log, proxyActivities } from '@temporalio/workflow';
import type { SignedCertificate } from '../../activities/access/certificate.ts';
import type { ControlActivities } from '../../activities/control.ts';
import type { HostActivities } from '../../activities/host.ts';
import type { LookResult } from '../../activities/step/steps.ts';
import type { HostRef } from '../../model/host.ts';
import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import { foreignLook } from '../../model/sandbox/proof.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { KeyToCertify } from '../../model/sandbox/signed-request.ts';
import { control } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { hostActivities } from '../saga/host-activities.ts';
import { untilDone } from '../saga/until-done.ts';
import type { Life } from './life.ts';
import { isLeft, optionsUntilDone, retryUntilDone, retryUntilDoneOrLeft } from './retry-until-done.ts';

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
    summary: readable(summary),
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
export function stepsWithin(life: Life, host: HostRef): (withinMs: number, summary: string) => HostActivities {
  return (withinMs, summary) =>
    hostActivities(host, (name, execute) => life.timed(name, () => execute(stepOptions(life, withinMs, summary))));
}

type Retry = (life: Life, what: string, run: (options: ActivityOptions) => Promise<unknown>) => Promise<unknown>;

/** Steps that are retried until they are done. */
export function stepsUntilDone(
  life: Life,
  host: HostRef,
  summary: string,
  retry: Retry = retryUntilDone,
): HostActivities {
  return hostActivities(host, (name, execute) =>
    life.timed(name, () =>
      retry(life, `${name} on host ${host.hostId}`, (options) => execute({ ...options, summary: readable(summary) })),
    ),
  );
}

/** How a sandbox whose disks are there starts, and how it is known to work. */
export function startSteps(life: Life, host: HostRef, generation = CREATE_GENERATION) {
  const { hostId } = host;
  const { id, timeouts } = life;
  const { spec, createdBy } = life.record;
  const target = { sandboxId: id, generation };
  const step = stepsWithin(life, host);
  return {
    bootDomain: () => step(bootMs(life, generation), `${id} on ${hostId}`).bootDomain(target),
    signCertificate: (key: KeyToCertify): Promise<SignedCertificate> =>
      life.timed('signCertificate', () =>
        control.signCertificate({ sandboxId: id, source: spec.source, actor: createdBy, ...key }),
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
export function cleanupSteps(life: Life, host: HostRef) {
  const { id } = life;
  const { hostId } = host;
  const gone = { sandboxId: id, generation: CLEANUP_GENERATION };
  const retry: Retry = (about, what, run) =>
    life.forgotten.orCancelled(hostId, () => retryUntilDoneOrLeft(about, what, run));
  const cleanup = stepsUntilDone(life, host, `${id} · ${hostId}`, retry);
  const look = (options: ActivityOptions): Promise<LookResult> => {
    const summary = `${id} · ${hostId}: is anything left?`;
    return hostActivities(host, (_name, execute) => execute({ ...options, summary: readable(summary) })).lookAgain(
      gone,
    );
  };
  return {
    host,
    removeCredentials: () => cleanup.removeCredentials(gone),
    removeDomain: () => cleanup.removeDomain(gone),
    releaseLease: () => cleanup.releaseLease(gone),
    removeWorkspace: () => cleanup.removeWorkspace(gone),
    releaseReservation: () => cleanup.releaseReservation(gone),
    /** What the machine that was asked says of itself, and no other. */
    lookAgain: () =>
      life.forgotten.orCancelled(hostId, () =>
        retryUntilDoneOrLeft(life, `lookAgain on host ${hostId}`, async (options) => {
          const result = await look(options);
          refuseForeign(host, result);
          return result;
        }),
      ),
  };
}

export type CleanupSteps = ReturnType<typeof cleanupSteps>;

/**
 * Of the undos of a create, for a host that refused it: retried until they are done, beside whatever else is done for the
 * sandbox, so its record tells nothing of them.
 * @throws ApplicationFailure host_forgotten
 */
export function quietCleanupSteps(life: Life, host: HostRef) {
  const gone = { sandboxId: life.id, generation: CLEANUP_GENERATION };
  const { cleanupMs, heartbeatMs, cleanupPauseMs } = life.timeouts;
  const options = {
    ...optionsUntilDone(cleanupMs, heartbeatMs),
    summary: readable(`${life.id} · ${host.hostId}, which refused it`),
  };
  const undo = hostActivities(host, (name, execute) => {
    const onFailure = (error: unknown) => {
      if (isLeft()) throw error;
      log.warn('an undo does not hold yet', { sandboxId: life.id, name, reason: String(error) });
    };
    const run = () =>
      untilDone(
        () => execute(options),
        onFailure,
        () => cleanupPauseMs,
      );
    return life.forgotten.orLeft(host.hostId, run);
  });
  return {
    removeCredentials: () => undo.removeCredentials(gone),
    removeWorkspace: () => undo.removeWorkspace(gone),
    releaseReservation: () => undo.releaseReservation(gone),
  };
}

/** @throws ApplicationFailure another_installation */
function refuseForeign(host: HostRef, { observations }: LookResult): void {
  const foreign = foreignLook(observations, host);
  if (!foreign) return;
  const seen = foreign.by ? `${foreign.by.installationId} on host ${foreign.by.hostId}` : 'who did not say where';
  throw refusal('another_installation', `${host.installationId} was asked, and it was ${seen} that looked`);
}
