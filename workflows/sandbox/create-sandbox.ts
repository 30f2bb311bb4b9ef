import { patched } from '@temporalio/workflow';
import type { Prepared } from '../../activities/sandbox/create.ts';
import type { HostProposals } from '../../model/host.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { type CreateSteps, createSteps, sawNoOtherStep, wasNotBegun } from '../life/create-steps.ts';
import { inTheirPlace, mayGiveWay } from '../life/giving-way.ts';
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

/** A host that was asked. */
interface Asked {
  host: CreateSteps;
  refused: RefusedHost;
  refusal: unknown;
  prepare: () => Promise<Prepared>;
}

/**
 * The API proposes hosts, then placement does; each accepts or refuses, and the next is asked. What one that refused has
 * promised all the same is taken back meanwhile: only the sandbox's end waits for that. Where all have refused, members of
 * pools give way on those that had no room.
 */
export async function prepareSomewhere(
  life: Life,
  userCaKeys: string[],
  undo: Undo,
): Promise<{ host: CreateSteps; clone: Prepared['clone'] }> {
  const asked = new Set<string>();
  const full: Asked[] = [];
  let refusal: unknown;
  const proposed = async () => proposedHosts(life);
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
      const prepare = () => host.prepare(userCaKeys, content);
      try {
        const { clone } = await prepare();
        takeBackAll(full);
        return { host, clone };
      } catch (error) {
        if (!isRefusal(failureOf(error, life.failedStep))) throw error;
        if (mayGiveWay(life, error)) full.push({ host, refused, refusal: error, prepare });
        else if (patched(UNDOS_STAY)) takeBack(refused, error);
        else
          await refused.withdraw(
            wasNotBegun(error) ? [] : [host.removeWorkspace, host.removeCredentials, host.releaseReservation],
          );
        refusal = error;
      }
    }
  }
  const found = await whereMembersGiveWay(life, full);
  if (found) return found;
  await life.recordChange('sandbox.state', { hostId: null, installationId: null });
  throw refusal;
}

/** Asks them again, one after another, while members of pools make room. Null: none has room nevertheless. */
async function whereMembersGiveWay(
  life: Life,
  full: readonly Asked[],
): Promise<{ host: CreateSteps; clone: Prepared['clone'] } | null> {
  for (const one of full) {
    const { host, prepare } = one;
    try {
      await recordAsked(life, host.host);
      const { clone } = await inTheirPlace(life, host.host, one.refusal, prepare);
      takeBackAll(full.filter((other) => other !== one));
      return { host, clone };
    } catch (error) {
      if (!isRefusal(failureOf(error, life.failedStep))) throw error;
      one.refusal = error;
    }
  }
  takeBackAll(full);
  return null;
}

function takeBackAll(hosts: readonly Asked[]): void {
  for (const { refused, refusal } of hosts) takeBack(refused, refusal);
}

function takeBack(refused: RefusedHost, refusal: unknown): void {
  refused.takeBack(sawNoOtherStep(refusal) ? ['reserve'] : ['reserve', 'cloneDisk']);
}

/** By the API; before them the one on which an earlier run of this create was at work, where the workflow was reset. */
function proposedHosts({ record, proposedHosts: proposed }: Life): HostProposals {
  const { hostId, installationId = null } = record;
  if (hostId === null) return proposed;
  const { hostIds, installations } = proposed;
  const known = installationId === null ? {} : { [hostId]: installationId };
  return { ...proposed, hostIds: [hostId, ...hostIds], installations: { ...installations, ...known } };
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
