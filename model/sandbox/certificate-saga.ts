import type { CertificatePurpose } from './certificate.ts';
import type { Actor, SandboxFailure } from './sandbox.ts';
import type { RequestSignature } from './signed-request.ts';

/** Workflow that signs one public key. */
export const CERTIFICATE_WORKFLOW = 'certificate';
export interface CertificateInput {
  sandboxId: string;
  /** OpenSSH public key, one line. */
  publicKey: string;
  purpose: CertificatePurpose;
  /** Null for Mayfly's own: then it is the sandbox's creator. */
  actor: Actor | null;
  /** `@default` 1800 */
  ttlSeconds: number | null;
  /** Required: a request without a signature is refused. */
  signature?: RequestSignature;
}

/** Refusal with its reason. */
export interface RefusedCertificate {
  refused: SandboxFailure;
}

/**
 * Workflow, at most one per sandbox, that synchronizes a guest's trust with the store and the CA's keys. Returns
 * whether the guest was verified; false when the sandbox ended first.
 */
export const TRUST_WORKFLOW = 'trust';
export interface TrustInput {
  sandboxId: string;
}
/** Signal with a {@link Revocation} or null: revokes first, then synchronizes. */
export const TRUST_CHANGED = 'changed';
export interface Revocation {
  /** Decimal serials, or `all` certificates of callers. */
  serials: string[] | 'all';
  actor: Actor;
}

export function trustWorkflowIdOf(sandboxId: string): string {
  return `trust/${sandboxId}`;
}
