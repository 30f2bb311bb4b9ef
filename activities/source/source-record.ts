import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import type { Store } from '../../store/connect.ts';

interface SourceChange {
  source: Pick<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>;
  changes: Partial<Omit<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>>;
  /** Event; null: none. */
  event: AuditEvent | null;
}

/** Activity on the record of a source, which only its own workflow writes. */
export function createSourceRecordActivities({ store }: { store: Store }) {
  return {
    /** Changes the record and appends to the audit trail. Idempotent by the event's id. */
    async rememberSource({ source, changes, event }: SourceChange): Promise<SourceAccess> {
      const [record] = await Promise.all([
        store.sources.change(source, changes),
        event && store.audit.record(source.id, event),
      ]);
      return record;
    },
  };
}
