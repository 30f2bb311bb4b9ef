import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  log,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { GuestTrust } from '../../activities/access/revocation.ts';
import type { HostActivities } from '../../activities/host.ts';
import { type Revocation, TRUST_CHANGED, type TrustInput } from '../../model/sandbox/certificate-saga.ts';
import { eventIdOf } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { onHost } from '../saga/host-activities.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';

const trustChanged = defineSignal<[Revocation | null]>(TRUST_CHANGED);

/** Pause after a round in which all attempts on the host failed. */
const PAUSE = '5s';

/**
 * Brings the trust of one guest in line with the store and the CA's keys:
 *
 *   mark as revoked → compute the current trust → push to the guest, until success → record that it refuses the revoked
 *
 * One run at a time per sandbox, so an older list never replaces a newer one. A signal during a run starts another
 * round.
 * @returns true when the guest has the newest trust; false when the sandbox ended first, so nothing opens it
 */
export async function trust({ sandboxId }: TrustInput): Promise<boolean> {
  const requests: { revocation: Revocation | null; at: string }[] = [];
  let isNew = true;
  let events = 0;
  setHandler(trustChanged, (revocation) => {
    requests.push({ revocation, at: now() });
    isNew = true;
  });
  for (;;) {
    isNew = false;
    for (const { revocation, at } of requests.splice(0)) {
      if (!revocation) continue;
      await controlUntilDone.revokeCertificates({ sandboxId, ...revocation, at, eventId: eventIdOf(events++) });
    }
    const guest = await controlUntilDone.trustOf({ sandboxId });
    if (!guest) return false;
    const isApplied = await pushToGuest(sandboxId, guest);
    if (isApplied && !isNew && !guest.hasMore) return true;
    if (isApplied) continue;
    await condition(() => isNew, PAUSE);
    if (workflowInfo().continueAsNewSuggested && requests.length === 0)
      await continueAsNew<typeof trust>({ sandboxId });
  }
}

async function pushToGuest(sandboxId: string, guest: GuestTrust): Promise<boolean> {
  const { hostId, userCaKeys, revokedKeys, revokedSerials } = guest;
  const profile = PROFILE.work(2 * MINUTE_MS, { hostDownMs: 30_000, attempts: 4 });
  const host = onHost(guest, { ...profile, summary: `${sandboxId} · ${hostId}` });
  try {
    await host.pushTrust({ sandboxId, userCaKeys, revokedKeys, revokedSerials });
    if (guest.isOwnSignedByOther) await resignOwn(host, sandboxId);
  } catch (error) {
    // a local activity throws its failure bare
    if (!(error instanceof ActivityFailure || error instanceof ApplicationFailure)) throw error;
    const why = (error instanceof ActivityFailure ? error.cause?.message : null) ?? error.message;
    log.warn('a guest is not told yet whom to trust', { sandboxId, why });
    setCurrentDetails(`waiting for ${sandboxId} on ${hostId}: ${why}`);
    return false;
  }
  setCurrentDetails('');
  if (revokedSerials.length > 0) await controlUntilDone.rememberRefused({ serials: revokedSerials, at: now() });
  return true;
}

/** Re-signs the platform's own certificate before the guest drops the key that signed it. */
async function resignOwn(
  host: Pick<HostActivities, 'ownPublicKey' | 'storeOwnCertificate'>,
  sandboxId: string,
): Promise<void> {
  const { publicKey, signature } = await host.ownPublicKey({ sandboxId });
  if (publicKey === null) return;
  const { source, createdBy } = await controlUntilDone.certifiable({ sandboxId, publicKey, purpose: 'host' });
  const signed = await controlUntilDone.signCertificate({
    sandboxId,
    source,
    actor: createdBy,
    publicKey,
    purpose: 'host',
    signature,
  });
  await host.storeOwnCertificate({ sandboxId, certificate: signed.certificate });
}
