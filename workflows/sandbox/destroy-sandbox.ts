import { patched, sleep } from '@temporalio/workflow';
import { LAYERS, type Observation, type Proof, unprovenLayers } from '../../model/sandbox/proof.ts';
import type { Life } from '../life/life.ts';
import { type CleanupSteps, cleanupSteps } from '../life/steps.ts';
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
export async function destroySandbox(life: Life): Promise<Proof> {
  const hostId = life.record.hostId ?? (await hostByLooking(life));
  if (typeof hostId !== 'string') return proofOf(life, hostId);
  const host = cleanupSteps(life, hostId);
  await removeEveryLayer(host);
  return prove(life, host);
}

/**
 * A workflow that made the sandbox knows whether a host was ever asked. One that took over knows only a record, which may
 * be older than what happened: so every host is looked at.
 * @returns the host that has something of it; else what was looked at
 */
async function hostByLooking(life: Life): Promise<string | Observation[]> {
  if (!life.isTakenOver || !patched('every-host-is-looked-at')) return neverPlaced();
  const seen: Observation[] = [];
  const { hostIds } = await controlUntilDone.knownHosts();
  for (const hostId of hostIds) {
    const { observations } = await cleanupSteps(life, hostId).lookAgain();
    if (unprovenLayers(observations).length === 0) {
      seen.push(...observations.map((each) => ({ ...each, lookedAt: `${hostId}: ${each.lookedAt}` })));
      continue;
    }
    await life.recordChange('sandbox.cleanup', { hostId }, { foundOn: hostId });
    return hostId;
  }
  return seen.length > 0 ? seen : neverPlaced();
}

/** What a create leaves behind after its undos: nothing. Looks, and destroys once more whatever says otherwise. */
export async function proveUndone(life: Life): Promise<Proof> {
  const { hostId } = life.record;
  if (hostId === null) return proofOf(life, neverPlaced());
  return prove(life, cleanupSteps(life, hostId));
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

async function prove(life: Life, host: CleanupSteps): Promise<Proof> {
  let said = '';
  for (let n = 1; ; n++) {
    const { observations } = await host.lookAgain();
    const left = unprovenLayers(observations);
    if (left.length === 0) return proofOf(life, observations);
    const found = observations.filter((o) => !o.absent).map((o) => `${o.layer}: ${o.found ?? o.lookedAt}`);
    const waitingFor = `${left.join(', ')} to be gone from host ${host.hostId}`;
    if (waitingFor !== said) await life.recordChange('sandbox.cleanup', { waitingFor }, { left, found });
    said = waitingFor;
    await sleep(Math.min(n, LONGEST_PAUSE) * life.timeouts.cleanupPauseMs);
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

function proofOf(life: Life, observations: Observation[]): Proof {
  return { sandboxId: life.id, hostId: life.record.hostId, observations, provedAt: now() };
}
