import type { Prepared } from '../../activities/sandbox/create.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { type CreateSteps, createSteps, wasNotBegun } from '../life/create-steps.ts';
import type { Life } from '../life/life.ts';
import { placement } from '../life/steps.ts';
import { control } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { saga, type Undo } from '../saga/saga.ts';

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

    const { certificate } = await host.signCertificate(clone.loginKey);

    life.enter('booting', { macAddress: clone.macAddress });
    undo('awaitIp', host.releaseLease); // a guest may hold a lease as soon as it has booted
    undo('bootDomain', host.removeDomain);
    const { ssh } = await host.start(clone, certificate);
    life.enter('verifying-ssh', { ssh });
  }, beforeUndo);
}

/** The API proposes hosts, then placement does; each accepts or refuses, and the next is asked. */
async function prepareSomewhere(
  life: Life,
  userCaKeys: string[],
  undo: Undo,
): Promise<{ host: CreateSteps; clone: Prepared['clone'] }> {
  const asked = new Set<string>();
  let refusal: unknown;
  for (const propose of [async () => life.proposedHosts, () => proposeHosts(life)]) {
    for (const hostId of await propose()) {
      if (asked.has(hostId)) continue;
      asked.add(hostId);
      if (hostId !== life.record.hostId) await life.recordChange('sandbox.state', { hostId }); // before the host is touched: a cleanup must find it
      const host = createSteps(life, hostId);
      const undos = [host.releaseReservation, host.removeCredentials, host.removeWorkspace];
      const withdrawals = undos.map((each, n) => undo(n === 0 ? 'reserve' : 'cloneDisk', each));
      try {
        const { clone } = await host.prepare(userCaKeys);
        return { host, clone };
      } catch (error) {
        if (!isRefusal(failureOf(error, life.failedStep))) throw error;
        if (!wasNotBegun(error)) for (const each of undos.toReversed()) await each();
        for (const withdraw of withdrawals) withdraw();
        refusal = error;
      }
    }
  }
  await life.recordChange('sandbox.state', { hostId: null });
  throw refusal;
}

async function proposeHosts(life: Life): Promise<string[]> {
  const { spec, createdBy } = life.record;
  life.enter('placing');
  const { hostIds } = await life.timed('proposeHosts', () =>
    placement.proposeHosts({ spec, sandboxId: life.id, apiKeyId: createdBy.apiKeyId }),
  );
  return hostIds;
}

/** The host has no room, or its worker never took the request: another may do it. */
function isRefusal({ code, step }: SandboxFailure): boolean {
  if (step !== 'reserve') return false;
  return code === 'capacity_exhausted' || code === 'host_disk_full' || code === 'host_unavailable';
}
