import type { RecordEventInput } from '../../model/sagas/messages.ts';
import type { Store } from '../../store/connect.ts';

/** What is remembered without a change of the record. */
export function createEventActivities({ store }: { store: Store }) {
  return {
    /** Appends to the audit trail. The event's id makes a repetition harmless. */
    async rememberEvent({ sandboxId, event }: RecordEventInput): Promise<void> {
      await store.audit.record(sandboxId, event);
    },
  };
}

export type EventActivities = ReturnType<typeof createEventActivities>;
