import type { AuditEvent, AuditKind } from './audit.ts';
import type { CertificatePurpose } from './certificate.ts';
import type { Actor } from './sandbox.ts';

/** Who asks the control worker for what only that can do. */
export type Asker = { process: 'api' } | { process: 'host'; hostId: string; installationId: string };

/** What is asked for, as it is signed. */
export interface SignedRequests {
  certificate: {
    /** The workflow in which it is to be signed: in no other does the request count. */
    workflowId: string;
    sandboxId: string;
    /** One OpenSSH public key line. */
    publicKey: string;
    purpose: CertificatePurpose;
    /** Null for the platform's own. */
    actor: Actor | null;
    /** Null: the default. */
    ttlSeconds: number | null;
  };
  /** The event's `runId` is null: the run that appends it fills it in. */
  event: { sandboxId: string; event: AuditEvent };
}
export type RequestKind = keyof SignedRequests;

/** Says which process asks, and proves it. */
export interface RequestSignature {
  by: Asker;
  /** Of Ed25519, its 32 bytes in base64url (RFC 8032 §5.1.5). */
  publicKey: string;
  /** When it was signed, by the asker's clock, ISO 8601. */
  at: string;
  /** Random: no two requests are the same. */
  nonce: string;
  /** Ed25519 over what is asked and all of the above, base64url. */
  value: string;
}

/** Signs what a process asks for, with the key that is that process's own. */
export interface RequestSigner {
  sign<Kind extends RequestKind>(kind: Kind, asked: SignedRequests[Kind]): RequestSignature;
}

/** A public key that is to be certified, with the word of the host that has made it. */
export interface KeyToCertify {
  /** One OpenSSH public key line. */
  publicKey: string;
  /** Without one it is refused. */
  signature?: RequestSignature | undefined;
}

/** An event with the word of the process that has it recorded; without one it is refused. */
export type SignedEvent = AuditEvent & { signature?: RequestSignature };

/**
 * A request older than this, or as far in the future, is refused; that one is not granted twice is seen to besides, for as
 * long as its certificate is remembered. A process may have been without Temporal for hours, and its clock be wrong. Milliseconds.
 */
export const REQUEST_COUNTS_MS = 24 * 3_600_000;

/** What the API may have recorded: accesses, which no saga sees. A host has nothing recorded: what it did is told by sagas. */
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

/** And what came of an approval, in the trail of that and in no other. */
export const APPROVAL_KINDS: ReadonlySet<AuditKind> = new Set([
  'approval.requested',
  'approval.approved',
  'approval.refused',
  'approval.withdrawn',
  'approval.used',
]);
