/** Payload type (DSSE) of the signature at the end of an audit export. */
export const AUDIT_EXPORT_TYPE = 'application/vnd.mayfly.audit-export+json';

/** Signed content of an audit export: its lines before the last, and their SHA-256, hex. */
export interface AuditExportSeal {
  lines: number;
  sha256: string;
}
