import { MayflyError } from '../../model/errors.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { ReconciledOutcome } from '../../model/sagas/reconcile.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { toSandboxEvent } from '../../model/webhooks/event.ts';
import type { Store } from '../../store/connect.ts';
import type { WebhookPublisher } from '../webhook/announcer.ts';

/**
 * Change of a sandbox's record, and its audit event. Both are written, or the activity is retried. While the audit
 * trail can't be continued, the event is queued and the record shows the fault, without blocking the sandbox.
 */
interface RecordChange {
  sandboxId: string;
  changes: Partial<Omit<SandboxRecord, 'id' | 'name'>>;
  event: AuditEvent;
}

interface ClaimRemembrance extends Pick<RecordChange, 'sandboxId' | 'event'> {
  /** Project of the claimer. */
  project: string;
  changes: Partial<Omit<SandboxRecord, 'id' | 'project'>>;
}

/** Activities on a sandbox's record, which only its own workflow writes. */
export function createRecordActivities({ store, announcer }: { store: Store; announcer: WebhookPublisher }) {
  /** Publishes the new state to webhooks. A crash before that repeats the activity. */
  async function publishState(record: SandboxRecord, { state }: Partial<SandboxRecord>, { eventId, at }: AuditEvent) {
    const event = state === undefined ? null : toSandboxEvent(record, { id: eventId, at });
    if (event) await announcer.tell(event);
  }

  /** Updates the audit fault in the record, when it changed. */
  async function withFault(record: SandboxRecord, auditFault: string | null): Promise<SandboxRecord> {
    if (auditFault === (record.auditFault ?? null)) return record;
    return store.sandboxes.update(record.id, { auditFault });
  }

  return {
    /**
     * Creates the record. Idempotent. When the name is taken, writes nothing, not even an audit event.
     * @throws MayflyError name_taken
     */
    async recordRequested({ record, event }: { record: SandboxRecord; event: AuditEvent }): Promise<SandboxRecord> {
      if (record.name !== null) {
        const named = await store.sandboxes.create(record);
        return withFault(named, await store.audit.record(record.id, event));
      }
      return withFault(...(await Promise.all([store.sandboxes.create(record), store.audit.record(record.id, event)])));
    },

    /**
     * Changes the record and appends to the audit trail. Idempotent by the event's id.
     * @throws MayflyError sandbox_not_found: the store was restored to an earlier time
     */
    async remember({ sandboxId, changes, event }: RecordChange): Promise<SandboxRecord> {
      const [record, fault] = await Promise.all([
        store.sandboxes.update(sandboxId, changes),
        store.audit.record(sandboxId, event),
        count(store, sandboxId, event),
      ]);
      if (isFinal(record.state)) await store.exposedPorts.closeAll(sandboxId);
      await publishState(record, changes, event);
      return withFault(record, fault);
    },

    /** Gives a pool member to its claimer. When the name is taken, writes nothing. @throws MayflyError name_taken */
    async recordClaim({ sandboxId, project, changes, event }: ClaimRemembrance): Promise<SandboxRecord> {
      const claim = () => store.sandboxes.claim({ id: sandboxId, project }, changes);
      const note = () => store.audit.record(sandboxId, event);
      const [record, fault] = changes.name ? [await claim(), await note()] : await Promise.all([claim(), note()]);
      await publishState(record, changes, event);
      return withFault(record, fault);
    },

    /** Rewrites a record that the store has lost, or has in an earlier version. */
    async rewriteRecord({ record, event }: { record: SandboxRecord; event: AuditEvent }): Promise<SandboxRecord> {
      const { id, state, hostId } = record;
      await store.sandboxes.put(record);
      const eventId = `${event.eventId}/restored`;
      const detail = { state, hostId };
      const restored: AuditEvent = { ...event, eventId, kind: 'sandbox.record-restored', actor: null, detail };
      for (const each of [restored, event]) {
        await store.audit.record(id, each);
        await count(store, id, each);
      }
      return record;
    },

    /** Records a sandbox found on a host; keeps a present record. */
    async recordFound({ record, event }: { record: SandboxRecord; event: AuditEvent }): Promise<SandboxRecord> {
      const present = await store.sandboxes.get(record.id);
      if (present) return present;
      await store.sandboxes.put(record);
      await store.audit.record(record.id, event);
      return record;
    },

    /** Returns the record, for a workflow that adopts a sandbox. */
    async recall({ id }: Pick<SandboxInput, 'id'>): Promise<SandboxRecord> {
      const record = await store.sandboxes.get(id);
      if (!record) throw new MayflyError('sandbox_not_found', `the store has no record of ${id}`);
      return record;
    },
  };
}

/** Outcomes of reconciliation, by audit event. */
const OUTCOMES: Partial<Record<AuditKind, ReconciledOutcome>> = {
  'sandbox.taken-over': 'taken-over',
  'sandbox.lost': 'lost',
  'sandbox.record-restored': 'record-restored',
  'sandbox.unproved': 'unproved',
};

async function count({ reconciled }: Store, subject: string, { eventId, kind, hostId, at, detail }: AuditEvent) {
  const isOrphan = kind === 'sandbox.proof' && detail['foundOn'] !== undefined;
  const outcome = isOrphan ? 'orphan-destroyed' : OUTCOMES[kind];
  if (outcome) await reconciled.add({ id: eventId, outcome, subject, hostId, at });
}
