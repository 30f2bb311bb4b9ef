import type { ActivityOptions } from '@temporalio/workflow';
import type { SignedCertificate } from '../../activities/access/certificate.ts';
import type { HostActivities } from '../../activities/host.ts';
import type { InspectionResult } from '../../activities/step/steps.ts';
import type { HostRef } from '../../model/host.ts';
import { CLEANUP_GENERATION } from '../../model/sagas/queues.ts';
import { findForeignObservation } from '../../model/sandbox/layers.ts';
import type { SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { KeyToCertify } from '../../model/sandbox/signed-request.ts';
import { control } from '../saga/control.ts';
import { refusal } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { PROFILE } from '../saga/profiles.ts';
import { retryForever } from '../saga/retry-forever.ts';
import { awaitHost } from './decommissioned-hosts.ts';
import type { SandboxEntity } from './entity.ts';

export const CREATE_GENERATION = 1;

export function stepOptions({ timeouts }: SandboxEntity, withinMs: number, summary: string): ActivityOptions {
  return { ...PROFILE.step(withinMs, timeouts), summary };
}

/**
 * Returns the time limit of a boot, ms. A boot from a snapshot may restore saved memory, which takes longer; the
 * workflow does not know if it will.
 */
export function bootMs({ record, timeouts }: SandboxEntity, generation: number): number {
  const mayWake = (record.spec.snapshotId ?? null) !== null || generation !== CREATE_GENERATION;
  return mayWake ? Math.max(timeouts.bootDomainMs, timeouts.hibernateMs) : timeouts.bootDomainMs;
}

/**
 * Builds the steps of a sandbox on its host: `step(withinMs, summary).bootDomain(…)`. The Temporal UI shows the
 * summary.
 */
export function stepsWithin(
  entity: SandboxEntity,
  host: HostRef,
): (withinMs: number, summary: string) => HostActivities {
  return (withinMs, summary) =>
    onHost(host, (name, execute) => entity.measureStep(name, () => execute(stepOptions(entity, withinMs, summary))));
}

/**
 * Builds compensations and removals on a host, each retried until success: see {@link retryOn}.
 * @param settle turns a failure that proves the work done into a success. `@default` none
 */
export function compensationsOn(
  entity: SandboxEntity,
  host: HostRef,
  summary: string,
  settle = (attempt: Promise<unknown>) => attempt,
): HostActivities {
  return onHost(host, (name, execute) =>
    entity.measureStep(name, () => retryOn(entity, host, name, (options) => settle(execute({ ...options, summary })))),
  );
}

/**
 * Retries an activity until success; the record shows the reason. Ends with its scope, or when the host is
 * decommissioned.
 * @throws CancelledFailure; ApplicationFailure host_forgotten
 */
function retryOn<T>(
  entity: SandboxEntity,
  host: HostRef,
  activity: string,
  run: (options: ActivityOptions) => Promise<T>,
): Promise<T> {
  const { timeouts } = entity;
  const { cleanupMs, cleanupPauseMs: pauseMs } = timeouts;
  const what = `${activity} on host ${host.hostId}`;
  const attempt = (n: number) =>
    run(n === 1 ? PROFILE.firstTry(cleanupMs, timeouts) : PROFILE.undo(cleanupMs, timeouts, 2 * pauseMs));
  const recordWaiting = (waitingFor: string | null) =>
    entity.recordChange('sandbox.cleanup', { waitingFor }, { what, waitingFor });
  return awaitHost(entity, host, () => retryForever(what, attempt, { pauseMs, recordWaiting }));
}

/** Builds the steps that start a sandbox whose disks exist, and verify that it works. */
export function startSteps(entity: SandboxEntity, host: HostRef, generation = CREATE_GENERATION) {
  const { hostId } = host;
  const { id, timeouts } = entity;
  const { spec, createdBy } = entity.record;
  const target = { sandboxId: id, generation };
  const step = stepsWithin(entity, host);
  return {
    bootDomain: () => step(bootMs(entity, generation), `${id} on ${hostId}`).bootDomain(target),
    signCertificate: (key: KeyToCertify): Promise<SignedCertificate> =>
      entity.measureStep('signCertificate', () =>
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

/**
 * Builds the removal of a sandbox from a host, layer by layer. Callers shield it from cancellation, as saga.ts does.
 */
export function cleanupSteps(entity: SandboxEntity, host: HostRef) {
  const { id } = entity;
  const { hostId } = host;
  const gone = { sandboxId: id, generation: CLEANUP_GENERATION };
  const cleanup = compensationsOn(entity, host, `${id} · ${hostId}`);
  return {
    host,
    removeCredentials: () => cleanup.removeCredentials(gone),
    removeDomain: () => cleanup.removeDomain(gone),
    releaseLease: () => cleanup.releaseLease(gone),
    removeWorkspace: () => cleanup.removeWorkspace(gone),
    releaseReservation: () => cleanup.releaseReservation(gone),
    /** Observes the machine. Rejects observations of any other installation. */
    lookAgain: () =>
      retryOn(entity, host, 'lookAgain', async (options) => {
        const look = { ...options, summary: `${id} · ${hostId}: is anything left?` };
        const result = await onHost(host, look).lookAgain(gone);
        assertOwnObservations(host, result);
        return result;
      }),
  };
}

export type CleanupSteps = ReturnType<typeof cleanupSteps>;

/** @throws ApplicationFailure another_installation */
function assertOwnObservations(host: HostRef, { observations }: InspectionResult): void {
  const foreign = findForeignObservation(observations, host);
  if (!foreign) return;
  const seen = foreign.by ? `${foreign.by.installationId} on host ${foreign.by.hostId}` : 'who did not say where';
  throw refusal('another_installation', `${host.installationId} was asked, and it was ${seen} that looked`);
}
