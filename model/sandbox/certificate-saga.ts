import type { CertificatePurpose } from './certificate.ts';
import type { Actor, SandboxFailure } from './sandbox.ts';
import type { RequestSignature } from './signed-request.ts';

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
