import type { AuditEvent } from '../../model/sandbox/audit.ts';

/** The field of an event that says most in a few words, the first that it has. */
const FIELDS = ['state', 'command', 'argv', 'path', 'keyId', 'outcome', 'serial', 'snapshotId', 'name', 'startedAt'];

/** What an event is about, in a few words, as JSON; '' when nothing says it. */
export function briefDetail({ detail }: Pick<AuditEvent, 'detail'>): string {
  const about = FIELDS.map((field) => detail[field]).find((value) => value !== undefined && value !== null);
  return about === undefined ? '' : JSON.stringify(about);
}
