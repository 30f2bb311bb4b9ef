import { sleep } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import { LAYERS, unprovedObservations, unprovedSince, unprovenLayers } from '../../model/sandbox/layers.ts';
import type { Observation, Proof } from '../../model/sandbox/proof.ts';
import { hostOf } from '../../model/sandbox/sandbox-state.ts';
import { isDecommissioned, unlessDecommissioned } from '../entity/decommissioned-hosts.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { type CleanupSteps, cleanupSteps } from '../entity/steps.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';

/** The pause before the n-th look is n times the first, at most so many times: what a person has to mend is asked for once a minute. */
const LONGEST_PAUSE = 12;

/**
 * The end of a sandbox, whatever its state:
 *
 *   credentials → domain → lease → workspace → record, then look again
 *
 * "Not there" is success of a layer. A layer that does not give way is retried until it does, and the next waits for
 * it: a disk is not taken from under a machine that may still run. After the last one the host is looked at again, and
 * only what was seen to be absent is reported as removed.
 */
export async function destroySandbox(entity: SandboxEntity): Promise<Proof> {
  const host = entity.record.askedHosts.length === 0 ? await hostByLooking(entity) : hostOf(entity.record);
  if (Array.isArray(host)) return proofOf(entity, host);
  if (host) {
    const removed = () => removeEveryLayer(cleanupSteps(entity, host));
    await unlessDecommissioned(entity, host, removed);
  }
  return proveUndone(entity);
}

/**
 * A workflow that made the sandbox knows whether a host was ever asked. One that took over knows only a record, which may
 * be older than what happened: so every host is looked at.
 * @returns the host that has something of it; else what was looked at
 */
async function hostByLooking(entity: SandboxEntity): Promise<HostRef | Observation[]> {
  if (entity.begins === 'create') return neverPlaced();
  const seen: Observation[] = [];
  const { hosts } = await controlUntilDone.knownHosts();
  for (const host of hosts) {
    const { hostId } = host;
    const { observations } = await cleanupSteps(entity, host).lookAgain();
    if (unprovenLayers(observations).length === 0) {
      seen.push(...observations.map((each) => ({ ...each, lookedAt: `${hostId}: ${each.lookedAt}` })));
      continue;
    }
    await entity.recordChange('sandbox.cleanup', { ...host, askedHosts: [host] }, { foundOn: hostId });
    return host;
  }
  return seen.length > 0 ? seen : neverPlaced();
}

/**
 * What is left after the undos of a create, or a destroy: nothing, on any host that was ever asked. Looks at each, and
 * destroys once more whatever says otherwise. A host that is down is waited for, since nobody else can look at its machine,
 * until it is forgotten: then the proof says that nobody has.
 */
export async function proveUndone(entity: SandboxEntity): Promise<Proof> {
  const asked = entity.record.askedHosts;
  if (asked.length === 0) return proofOf(entity, neverPlaced());
  const observations: Observation[] = [];
  for (const host of asked.toReversed()) {
    const { hostId } = host;
    const proved = await unlessDecommissioned(entity, host, () => prove(entity, cleanupSteps(entity, host)));
    observations.push(...(proved ?? unprovedObservations(hostId, now())));
  }
  return proofOf(entity, observations);
}

async function removeEveryLayer(host: CleanupSteps): Promise<void> {
  const removals = [
    host.removeCredentials,
    host.removeDomain,
    host.releaseLease,
    host.removeWorkspace,
    host.releaseReservation,
  ];
  for (const remove of removals) await remove();
}

async function prove(entity: SandboxEntity, host: CleanupSteps): Promise<Observation[]> {
  let said = '';
  for (let n = 1; ; n++) {
    const { observations } = await host.lookAgain();
    const left = unprovenLayers(observations);
    if (left.length === 0) return observations;
    const found = observations.filter((o) => !o.absent).map((o) => `${o.layer}: ${o.found ?? o.lookedAt}`);
    const waitingFor = `${left.join(', ')} to be gone from host ${host.host.hostId}`;
    if (waitingFor !== said) await entity.recordChange('sandbox.cleanup', { waitingFor }, { left, found });
    said = waitingFor;
    await sleep(Math.min(n, LONGEST_PAUSE) * entity.timeouts.cleanupPauseMs);
    await removeEveryLayer(host);
  }
}

/** No host was ever asked, so there is no machine to look at: the record itself is the evidence. */
function neverPlaced(): Observation[] {
  return LAYERS.map((layer) => ({
    layer,
    lookedAt: 'the record: no host was ever given this sandbox',
    absent: true,
    at: now(),
  }));
}

function proofOf(entity: SandboxEntity, observations: Observation[]): Proof {
  const { hostId } = entity.record;
  const gone = entity.record.askedHosts.filter((host) => isDecommissioned(entity, host));
  const unproved = unprovedSince(gone.map((host) => host.hostId));
  const proof: Proof = { sandboxId: entity.id, hostId, observations, provedAt: now() };
  return gone.length === 0 ? proof : { ...proof, unproved };
}
