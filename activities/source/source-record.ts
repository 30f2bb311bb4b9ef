import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SourceAccess } from '../../model/snapshots/source-access.ts';
import type { Store } from '../../store/connect.ts';

interface SourceRemembrance {
  source: Pick<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>;
  changes: Partial<Omit<SourceAccess, 'id' | 'hostId' | 'installationId' | 'name'>>;
  /** Null: not for the audit trail. */
  event: AuditEvent | null;
}

/** What is known of a source: what its own workflow, and nobody else, writes of it. */
export function createSourceRecordActivities({ store }: { store: Store }) {
  return {
    /** Changes the record and appends to the audit trail. The event's id makes a repetition harmless. */
    async rememberSource({ source, changes, event }: SourceRemembrance): Promise<SourceAccess> {
      const [record] = await Promise.all([
        store.sources.change(source, changes),
        event && store.audit.record(source.id, event),
      ]);
      return record;
    },
  };
}
