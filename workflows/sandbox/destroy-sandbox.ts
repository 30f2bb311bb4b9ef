import { sleep } from '@temporalio/workflow';
import type { HostRef } from '../../model/host.ts';
import { describeUnproved, LAYERS, unprovedObservations, unprovenLayers } from '../../model/sandbox/layers.ts';
import type { Observation, Proof } from '../../model/sandbox/proof.ts';
import { getHost } from '../../model/sandbox/sandbox-state.ts';
import { isDecommissioned, unlessDecommissioned } from '../entity/decommissioned-hosts.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import { type CleanupSteps, cleanupSteps } from '../entity/steps.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';

/**
 * Factor of the longest pause. The n-th pause is n times the first, up to one minute: persistent failures need a
 * person.
 */
const LONGEST_PAUSE = 12;

/**
 * Destroys a sandbox in any state:
 *
 *   credentials → domain → lease → workspace → record, then inspect
 *
 * An absent layer is a success. A layer is retried until removed, and the next waits for it: a disk is never removed
 * under a machine that may still run. At last the host is inspected, and only layers observed to be absent are
 * reported as removed.
 */
export async function destroySandbox(entity: SandboxEntity): Promise<Proof> {
  const host = entity.record.askedHosts.length === 0 ? await findHost(entity) : getHost(entity.record);
  if (Array.isArray(host)) return proofOf(entity, host);
  if (host) {
    const removed = () => removeEveryLayer(cleanupSteps(entity, host));
    await unlessDecommissioned(entity, host, removed);
  }
  return proveCompensated(entity);
}

/**
 * Searches all hosts for the sandbox. The workflow that created it knows if a host was tried; an adopting one has only
 * a record, which may be out of date.
 * @returns the host with residue; else the observations
 */
async function findHost(entity: SandboxEntity): Promise<HostRef | Observation[]> {
  if (entity.begins === 'create') return noHostObservations();
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
  return seen.length > 0 ? seen : noHostObservations();
}

/**
 * Proves that nothing is left after compensations or a destroy, on any host that was tried. Inspects each, and destroys
 * again where something is left. Waits for a host that is down, until it is decommissioned: then the proof calls it
 * unproved.
 */
export async function proveCompensated(entity: SandboxEntity): Promise<Proof> {
  const candidates = entity.record.askedHosts;
  if (candidates.length === 0) return proofOf(entity, noHostObservations());
  const observations: Observation[] = [];
  for (const host of candidates.toReversed()) {
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
  let recorded = '';
  for (let n = 1; ; n++) {
    const { observations } = await host.lookAgain();
    const left = unprovenLayers(observations);
    if (left.length === 0) return observations;
    const found = observations.filter((o) => !o.absent).map((o) => `${o.layer}: ${o.found ?? o.lookedAt}`);
    const waitingFor = `${left.join(', ')} to be gone from host ${host.host.hostId}`;
    if (waitingFor !== recorded) await entity.recordChange('sandbox.cleanup', { waitingFor }, { left, found });
    recorded = waitingFor;
    await sleep(Math.min(n, LONGEST_PAUSE) * entity.timeouts.cleanupPauseMs);
    await removeEveryLayer(host);
  }
}

/** Returns observations of a sandbox for which no host was tried: the record itself is the evidence. */
function noHostObservations(): Observation[] {
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
  const unproved = describeUnproved(gone.map((host) => host.hostId));
  const proof: Proof = { sandboxId: entity.id, hostId, observations, provedAt: now() };
  return gone.length === 0 ? proof : { ...proof, unproved };
}
