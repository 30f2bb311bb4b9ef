import type { AuditEvent, AuditKind } from './audit.ts';
import type { CertificatePurpose } from './certificate.ts';
import type { Actor } from './sandbox.ts';

/** Process that requests an action of the control worker. */
export type Signer = { process: 'api' } | { process: 'host'; hostId: string; installationId: string };

/** Signed contents by kind of request. */
export interface SignedRequests {
  certificate: {
    /** Only workflow in which the request is valid. */
    workflowId: string;
    sandboxId: string;
    /** OpenSSH public key, one line. */
    publicKey: string;
    purpose: CertificatePurpose;
    /** Null for Mayfly's own. */
    actor: Actor | null;
    /** Null: the default. */
    ttlSeconds: number | null;
  };
  /** `runId` of the event is null: the appending run fills it in. */
  event: { sandboxId: string; event: AuditEvent };
}
export type RequestKind = keyof SignedRequests;

/** Signature that identifies the requesting process. */
export interface RequestSignature {
  by: Signer;
  /** Ed25519 public key, 32 bytes in base64url (RFC 8032 §5.1.5). */
  publicKey: string;
  /** Time of signing by the signer's clock, ISO 8601. */
  at: string;
  /** Random, so each request is unique. */
  nonce: string;
  /** Ed25519 signature over the request and all fields above, base64url. */
  value: string;
}

/** Signs requests with the process's own key. */
export interface RequestSigner {
  sign<Kind extends RequestKind>(kind: Kind, asked: SignedRequests[Kind]): RequestSignature;
}

/** Public key to certify, signed by the host that generated it. */
export interface KeyToCertify {
  /** OpenSSH public key, one line. */
  publicKey: string;
  /** Required: refused without it. */
  signature?: RequestSignature | undefined;
}

/** Event signed by the process that recorded it; refused without a signature. */
export type SignedEvent = AuditEvent & { signature?: RequestSignature };

/**
 * Maximum age of a request, past or future, ms: a process may have been without Temporal for hours, and its clock be
 * wrong. Replays are detected separately, by the stored certificate.
 */
export const MAX_REQUEST_AGE_MS = 24 * 3_600_000;

/**
 * Kinds that the API may sign: accesses, which have no workflow. Hosts may sign none, since workflows record their
 * actions.
 */
export const ACCESS_KINDS: ReadonlySet<AuditKind> = new Set([
  'file.read',
  'file.written',
  'file.removed',
  'port.connected',
  'port.opened',
  'port.closed',
  'port.token-issued',
  'port.tokens-voided',
  'desktop.seen',
  'desktop.used',
  'desktop.stream-opened',
  'snapshot.compared',
  'source.command',
  'source.file',
]);

/** Kinds that are also allowed, in the audit of their approval only. */
export const APPROVAL_KINDS: ReadonlySet<AuditKind> = new Set([
  'approval.requested',
  'approval.approved',
  'approval.refused',
  'approval.withdrawn',
  'approval.used',
]);
