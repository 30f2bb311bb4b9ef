import { MayflyError } from '../../model/errors.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import type { Store } from '../../store/connect.ts';

/** A change of a sandbox's record, and what the audit trail says of it. Both are written, or the activity is retried. */
export interface Remembrance {
  sandboxId: string;
  changes: Partial<Omit<SandboxRecord, 'id' | 'name'>>;
  event: AuditEvent;
}

/** The record of a sandbox: what its own workflow, and nobody else, writes of it. */
export function createRecordActivities({ store }: { store: Store }) {
  return {
    /**
     * Puts the first record of a sandbox into the store. The same request again changes nothing. Of one whose name is
     * taken nothing is written: neither a record nor an entry.
     * @throws MayflyError name_taken
     */
    async recordRequested({ record, event }: { record: SandboxRecord; event: AuditEvent }): Promise<SandboxRecord> {
      if (record.name !== null) {
        const named = await store.sandboxes.create(record);
        await store.audit.append(record.id, event);
        return named;
      }
      const [stored] = await Promise.all([store.sandboxes.create(record), store.audit.append(record.id, event)]);
      return stored;
    },

    /** Changes the record and appends to the audit trail. The event's id makes a repetition harmless. */
    async remember({ sandboxId, changes, event }: Remembrance): Promise<SandboxRecord> {
      const [record] = await Promise.all([
        store.sandboxes.update(sandboxId, changes),
        store.audit.append(sandboxId, event),
      ]);
      return record;
    },

    /** The record as it stands, for a workflow that takes over a sandbox whose own workflow is gone. */
    async recall({ id }: Pick<SandboxInput, 'id'>): Promise<SandboxRecord> {
      const record = await store.sandboxes.get(id);
      if (!record) throw new MayflyError('sandbox_not_found', `the store has no record of ${id}`);
      return record;
    },
  };
}

export type RecordActivities = ReturnType<typeof createRecordActivities>;
