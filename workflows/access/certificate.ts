import type { IssuedCertificate } from '../../model/sandbox/certificate.ts';
import type { CertificateInput, RefusedCertificate } from '../../model/sandbox/certificate-saga.ts';
import { control } from '../saga/control.ts';
import { failureOf, isRefusal } from '../saga/failure.ts';

const { certifiable, signCertificate } = control;

/** Signs one public key for one living sandbox. Idempotent: the certificate's id is the request's. */
export async function certificate(input: CertificateInput): Promise<IssuedCertificate | RefusedCertificate> {
  try {
    return await sign(input);
  } catch (error) {
    const refused = failureOf(error, 'certificate');
    if (isRefusal(refused.code)) return { refused };
    throw error;
  }
}

async function sign(input: CertificateInput): Promise<IssuedCertificate> {
  const { sandboxId, publicKey, purpose, actor, ttlSeconds, signature } = input;
  const { source, createdBy } = await certifiable({ sandboxId, publicKey, purpose });
  return signCertificate({
    sandboxId,
    source,
    actor: actor ?? createdBy,
    publicKey,
    purpose,
    signature,
    ...(ttlSeconds !== null && { ttlSeconds }),
  });
}
