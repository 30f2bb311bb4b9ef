import type { CertificatePurpose } from './certificate-purpose.ts';
import type { Actor, SandboxFailure } from './sandbox.ts';
import type { RequestSignature } from './signed-request.ts';

/** What is remembered of an issued certificate; not the certificate itself, which whoever asked for it has. */
export interface CertificateRecord {
  /** Decimal, unique for ever; 64 bits do not fit a JSON number. */
  serial: string;
  /** The one principal: the id of the sandbox, or of the source, that it opens. */
  sandboxId: string;
  /** The identity that sshd logs at every login. */
  keyId: string;
  actor: Actor;
  purpose: CertificatePurpose;
  /** Of the certified public key, as `ssh-keygen -lf` prints it. */
  fingerprint: string;
  /** Fingerprint of the CA key that signed it. */
  signedBy: string;
  /** ISO 8601, whole seconds. */
  validAfter: string;
  /** ISO 8601, whole seconds. */
  validBefore: string;
  /** When its end was asked for, ISO 8601. */
  revokedAt: string | null;
  revokedBy: Actor | null;
  /** When the guest was seen to refuse it and to have no session of it left; null: not known. ISO 8601. */
  refusedAt: string | null;
  /** SHA-256 of the signature of the request that it was given to, hex; null, or absent: nobody signed requests then. */
  request?: string | null;
  /** The Temporal run in which that was. */
  runId?: string | null;
}

/** A certificate as it is handed out, once. */
export interface IssuedCertificate extends Pick<CertificateRecord, 'serial' | 'keyId' | 'validAfter' | 'validBefore'> {
  /** One OpenSSH certificate line. */
  certificate: string;
}

/** The workflow that signs one public key. */
export const CERTIFICATE_WORKFLOW = 'certificate';
export interface CertificateInput {
  sandboxId: string;
  /** One OpenSSH public key line. */
  publicKey: string;
  purpose: CertificatePurpose;
  /** Null for the platform's own: then it is whoever asked for the sandbox. */
  actor: Actor | null;
  /** `@default` 1800 */
  ttlSeconds: number | null;
  /** Of who asks; without one it is refused. */
  signature?: RequestSignature;
}

/** Why there is none. */
export interface RefusedCertificate {
  refused: SandboxFailure;
}

/**
 * The workflow, one at a time a sandbox, that brings what a guest trusts in line with the store and the CA's keys. Its
 * result: whether the guest was seen to have it; false when the sandbox ended first.
 */
export const TRUST_WORKFLOW = 'trust';
export interface TrustInput {
  sandboxId: string;
}
/** Signal, with a {@link Revocation} or null: look again, and first revoke what is named. */
export const TRUST_CHANGED = 'changed';
export interface Revocation {
  /** Decimal serials, or `all` of those that callers have. */
  serials: string[] | 'all';
  actor: Actor;
}

export function trustWorkflowIdOf(sandboxId: string): string {
  return `trust/${sandboxId}`;
}
