import { proxyLocalActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../activities/control.ts';
import type { CertificateInput, IssuedCertificate } from '../model/certificate.ts';

const { certifiable, signCertificate } = proxyLocalActivities<ControlActivities>({
  startToCloseTimeout: '20s',
  retry: { initialInterval: '100ms', maximumInterval: '5s', maximumAttempts: 5 },
});

/** Signs one public key for one living sandbox. Its id is its request's, so the same request gets the same certificate. */
export async function certificate(input: CertificateInput): Promise<IssuedCertificate> {
  const { sandboxId, publicKey, purpose, actor, ttlSeconds } = input;
  const { source, createdBy } = await certifiable({ sandboxId, publicKey, purpose });
  return signCertificate({
    sandboxId,
    source,
    actor: actor ?? createdBy,
    publicKey,
    purpose,
    ...(ttlSeconds !== null && { ttlSeconds }),
  });
}
