import { patched } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import type { SandboxFailure, SshEndpoint } from '../../model/sandbox/sandbox.ts';
import type { Life } from '../life/life.ts';
import { CREATE_GENERATION, cleanupSteps, placement, startSteps, stepsWithin } from '../life/steps.ts';
import { control } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { RefusedHost, recordAsked, UNDOS_STAY } from './asked-hosts.ts';

/**
 * How lives were created that began before activities had several steps (create-sandbox.ts): each step is an activity of its own.
 * Kept for those that may still be at it, and for the recorded ones.
 */
export async function createBySteps(life: Life, beforeUndo: (cause: unknown) => Promise<void>): Promise<void> {
  await saga(async (undo) => {
    const host = await reserveSomewhere(life, undo);

    life.enter('cloning');
    const { keys: userCaKeys } = await control.userCaKeys();
    undo('cloneDisk', host.removeCredentials);
    undo('cloneDisk', host.removeWorkspace);
    const clone = await host.cloneDisk(userCaKeys);
    const { certificate } = await host.signCertificate({ publicKey: clone.loginKey, signature: clone.loginSignature });

    life.enter('booting', { macAddress: clone.macAddress });
    undo('awaitIp', host.releaseLease); // a guest may hold a lease as soon as it has booted
    undo('bootDomain', host.removeDomain);
    await host.bootDomain();

    life.enter('awaiting-ip');
    const lease = await host.awaitIp();

    const ssh: SshEndpoint = { address: lease.address, port: lease.port, user: clone.user, hostKey: clone.hostKey };
    life.enter('verifying-ssh', { ssh });
    await host.verifySsh(ssh, certificate);
  }, beforeUndo);
}

/** Placement proposes hosts; each accepts or refuses, and the next is asked. */
async function reserveSomewhere(life: Life, undo: Undo): Promise<HostSteps> {
  life.enter('placing');
  const { hostIds, installations = {} } = await life.timed('proposeHosts', () =>
    placement.proposeHosts({ spec: life.record.spec, sandboxId: life.id, apiKeyId: life.record.createdBy.apiKeyId }),
  );
  let refusal: unknown;
  for (const hostId of hostIds) {
    const ref = { hostId, installationId: installations[hostId] ?? null };
    await recordAsked(life, ref);
    const host = hostSteps(life, ref);
    const refused = new RefusedHost(life, ref);
    undo('reserve', () => refused.orElse(host.releaseReservation));
    try {
      await host.reserve();
      return host;
    } catch (error) {
      if (!isRefusal(failureOf(error, 'reserve'))) throw error;
      if (patched(UNDOS_STAY)) refused.takeBack(['reserve']);
      else await refused.withdraw([]);
      refusal = error;
    }
  }
  await life.recordChange('sandbox.state', { hostId: null, installationId: null });
  throw refusal;
}

/** Each step of a create as an activity of its own, and the undos. */
function hostSteps(life: Life, host: HostRef) {
  const { hostId } = host;
  const { id, timeouts } = life;
  const { spec } = life.record;
  const { source, snapshotId, captureId = null, cpus, memoryMib, network } = spec;
  const target = { sandboxId: id, generation: CREATE_GENERATION };
  const step = stepsWithin(life, host);
  return {
    ...startSteps(life, host),
    ...cleanupSteps(life, host),
    reserve: () => step(timeouts.reserveMs, `${id} on ${hostId}`).reserve({ ...target, source, snapshotId, memoryMib }),
    cloneDisk: (userCaKeys: string[]) => {
      const disk = { source, snapshotId, captureId, cpus, memoryMib, egress: network.egress, userCaKeys };
      const summary = `${snapshotId ?? captureId ?? source} → ${id}`;
      return step(timeouts.cloneDiskMs, summary).cloneDisk({ ...target, ...disk });
    },
  };
}

type HostSteps = ReturnType<typeof hostSteps>;

/** The host has no room, or its worker never took the request: nothing was promised there, and another may do it. */
function isRefusal({ code }: SandboxFailure): boolean {
  return code === 'capacity_exhausted' || code === 'host_disk_full' || code === 'host_unavailable';
}
