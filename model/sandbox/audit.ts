import type { Actor } from './sandbox.ts';

/** Kinds of audit events. */
export type AuditKind =
  | 'sandbox.requested'
  | 'sandbox.state'
  | 'sandbox.step'
  | 'sandbox.patched'
  | 'sandbox.stop-asked'
  | 'sandbox.cleanup'
  | 'sandbox.proof'
  | 'sandbox.paused'
  | 'sandbox.hibernated'
  | 'sandbox.resumed'
  | 'sandbox.stalled'
  | 'sandbox.unstalled'
  | 'sandbox.restored'
  | 'sandbox.restore-failed'
  | 'sandbox.taken-over'
  | 'sandbox.lost'
  | 'sandbox.found'
  | 'sandbox.record-restored'
  | 'sandbox.unproved'
  | 'sandbox.flattened'
  | 'sandbox.flatten-failed'
  | 'sandbox.claimed'
  | 'snapshot.requested'
  | 'snapshot.ready'
  | 'snapshot.failed'
  | 'snapshot.deleting'
  | 'snapshot.deleted'
  | 'snapshot.compared'
  | 'capture.requested'
  | 'capture.ready'
  | 'capture.failed'
  | 'capture.deleting'
  | 'capture.kept'
  | 'capture.deleted'
  | 'certificate.issued'
  | 'certificate.revoked'
  | 'command.requested'
  | 'command.started'
  | 'command.cancel-asked'
  | 'command.ended'
  | 'file.read'
  | 'file.written'
  | 'file.removed'
  | 'port.connected'
  | 'port.opened'
  | 'port.closed'
  | 'port.token-issued'
  | 'port.tokens-voided'
  | 'desktop.seen'
  | 'desktop.used'
  | 'desktop.stream-opened'
  | 'source.prepared'
  | 'source.prepare-failed'
  | 'source.unprepared'
  | 'source.starting'
  | 'source.started'
  | 'source.start-failed'
  | 'source.stopping'
  | 'source.stopped'
  | 'source.stop-failed'
  | 'source.baking'
  | 'source.baked'
  | 'source.bake-failed'
  | 'source.deleting'
  | 'source.delete-refused'
  | 'source.deleted'
  | 'template.building'
  | 'template.ready'
  | 'template.failed'
  | 'template.stale'
  | 'template.gone'
  | 'playbook.requested'
  | 'playbook.ended'
  | 'run.admitted'
  | 'run.waitpoint-completed'
  | 'run.ended'
  | 'run.cleaned'
  | 'approval.requested'
  | 'approval.approved'
  | 'approval.refused'
  | 'approval.withdrawn'
  | 'approval.used'
  | 'image.requested'
  | 'image.cancel-asked'
  | 'image.ready'
  | 'image.failed'
  | 'image.cancelled'
  | 'source.command'
  | 'source.file';

/** Event to append. `eventId` is an idempotency key: one entry per id. */
export interface AuditEvent {
  eventId: string;
  kind: AuditKind;
  actor: Actor | null;
  /** Temporal run that caused it; null: a manual action. */
  runId: string | null;
  hostId: string | null;
  /** ISO 8601. */
  at: string;
  detail: Record<string, unknown>;
}

/**
 * Entry of an audit chain; `sandboxId` is the id of its subject: a sandbox, source, approval or build. `body` is the
 * event in canonical JSON: the hashed bytes are the stored bytes.
 */
export interface AuditEntry {
  sandboxId: string;
  /** Consecutive from 0. */
  seq: number;
  body: string;
  /** Hex HMAC-SHA256 over previous hash, sandbox id, seq and body. */
  hash: string;
  previousHash: string;
}
