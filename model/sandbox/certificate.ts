import { z } from 'zod';
import { actor, instant, optional } from '../fields.ts';

/** Record of an issued certificate; only the requester has the certificate itself. */
export const certificateRecord = z.object({
  serial: z.string().describe('Decimal, unique for ever; 64 bits do not fit a JSON number'),
  sandboxId: z.string().describe('The one principal: the id of the sandbox, or of the source, that it opens'),
  keyId: z.string().describe('What sshd logs at every login'),
  actor,
  purpose: z
    .enum(['host', 'caller'])
    .describe("`host`: the platform's own, with which the host worker logs in. `caller`: for the key of whoever asked"),
  fingerprint: z.string().describe('Of the certified public key, as `ssh-keygen -lf` prints it'),
  signedBy: z.string().describe('Fingerprint of the CA key that signed it'),
  validAfter: instant,
  validBefore: instant,
  revokedAt: instant.nullable().describe('When its end was asked for'),
  revokedBy: actor.nullable(),
  refusedAt: instant
    .nullable()
    .describe('When the guest was seen to refuse it and to have no session of it left; null: not known'),
  request: optional(z.string()).describe(
    'SHA-256 of the signature of the request that it was given to, hex. Absent: nobody signs requests',
  ),
  runId: optional(z.string().nullable()).describe('The Temporal run in which that was'),
});
export type CertificateRecord = z.infer<typeof certificateRecord>;
export type CertificatePurpose = CertificateRecord['purpose'];

/** Certificate as issued, once. */
export interface IssuedCertificate extends Pick<CertificateRecord, 'serial' | 'keyId' | 'validAfter' | 'validBefore'> {
  /** OpenSSH certificate, one line. */
  certificate: string;
}
