import { patched } from '@temporalio/workflow';
import type { Prepared } from '../../activities/sandbox/create.ts';
import type { HostProposals } from '../../model/host.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { type CreateSteps, createSteps, sawNoOtherStep, wasNotBegun } from '../life/create-steps.ts';
import type { Life } from '../life/life.ts';
import { placement } from '../life/steps.ts';
import { control } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { RefusedHost, recordAsked, UNDOS_STAY } from './asked-hosts.ts';

/**
 * From a request to a sandbox that is known to work:
 *
 *   prepare (reserve → cloneDisk) → certificate → start (bootDomain → awaitIp → verifySsh) → running
 *
 * Each of the two is one activity on the host's queue, and each of its steps an "ensure" with a time of its own:
 * repeating it is harmless. The undos of its steps stand above the activity, so they also cover a step that failed after its
 * effect. When a step fails, or the sandbox is deleted or expires meanwhile, the undos run newest first, each until it
 * holds; the sandbox is called `failed` or `destroyed` only after the host has been looked at again (destroy-sandbox.ts).
 */
export async function createSandbox(life: Life, beforeUndo: (cause: unknown) => Promise<void>): Promise<void> {
  await saga(async (undo) => {
    const { keys: userCaKeys } = await control.userCaKeys();
    const { host, clone } = await prepareSomewhere(life, userCaKeys, undo);

    const { certificate } = await host.signCertificate({ publicKey: clone.loginKey, signature: clone.loginSignature });

    life.enter('booting', { macAddress: clone.macAddress });
    undo('awaitIp', host.releaseLease); // a guest may hold a lease as soon as it has booted
    undo('bootDomain', host.removeDomain);
    const { ssh, boot } = await host.start(clone, certificate);
    life.enter('verifying-ssh', { ssh, ...(boot !== undefined && { boot }) });
    life.templateKey = clone.templateKey ?? null;
  }, beforeUndo);
}

/**
 * The API proposes hosts, then placement does; each accepts or refuses, and the next is asked. What one that refused has
 * promised all the same is taken back meanwhile: only the sandbox's end waits for that.
 */
export async function prepareSomewhere(
  life: Life,
  userCaKeys: string[],
  undo: Undo,
): Promise<{ host: CreateSteps; clone: Prepared['clone'] }> {
  const asked = new Set<string>();
  let refusal: unknown;
  const proposed = async () => life.proposedHosts;
  for (const propose of life.isBound ? [proposed] : [proposed, () => proposeHosts(life)]) {
    const { hostIds, installations = {}, content } = await propose();
    for (const hostId of hostIds) {
      if (asked.has(hostId)) continue;
      asked.add(hostId);
      const ref = { hostId, installationId: installations[hostId] ?? null };
      await recordAsked(life, ref);
      const host = createSteps(life, ref);
      const refused = new RefusedHost(life, ref);
      undo('reserve', () => refused.orElse(host.releaseReservation));
      undo('cloneDisk', () => refused.orElse(host.removeCredentials));
      undo('cloneDisk', () => refused.orElse(host.removeWorkspace));
      try {
        const { clone } = await host.prepare(userCaKeys, content);
        return { host, clone };
      } catch (error) {
        if (!isRefusal(failureOf(error, life.failedStep))) throw error;
        if (patched(UNDOS_STAY)) refused.takeBack(sawNoOtherStep(error) ? ['reserve'] : ['reserve', 'cloneDisk']);
        else
          await refused.withdraw(
            wasNotBegun(error) ? [] : [host.removeWorkspace, host.removeCredentials, host.releaseReservation],
          );
        refusal = error;
      }
    }
  }
  await life.recordChange('sandbox.state', { hostId: null, installationId: null });
  throw refusal;
}

async function proposeHosts(life: Life): Promise<HostProposals> {
  const { spec, createdBy } = life.record;
  life.enter('placing');
  return life.timed('proposeHosts', () =>
    placement.proposeHosts({ spec, sandboxId: life.id, apiKeyId: createdBy.apiKeyId }),
  );
}

/** The host has no room, or its worker never took the request: another may do it. */
function isRefusal({ code, step }: SandboxFailure): boolean {
  if (step !== 'reserve') return false;
  return code === 'capacity_exhausted' || code === 'host_disk_full' || code === 'host_unavailable';
}
