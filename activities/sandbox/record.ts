import { MayflyError } from '../../model/errors.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { ReconciledOutcome } from '../../model/sagas/reconcile.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import { eventOfSandbox } from '../../model/webhooks/event.ts';
import type { Store } from '../../store/connect.ts';
import type { Announcer } from '../webhook/announcer.ts';

/**
 * A change of a sandbox's record, and what the audit trail says of it. Both are written, or the activity is retried. Where
 * the audit trail can't be continued its event waits, and the record says so: that stops nobody.
 */
interface Remembrance {
  sandboxId: string;
  changes: Partial<Omit<SandboxRecord, 'id' | 'name'>>;
  event: AuditEvent;
}

interface ClaimRemembrance extends Pick<Remembrance, 'sandboxId' | 'event'> {
  /** Whose it is from then on. */
  project: string;
  changes: Partial<Omit<SandboxRecord, 'id' | 'project'>>;
}

/** The record of a sandbox: what its own workflow, and nobody else, writes of it. */
export function createRecordActivities({ store, announcer }: { store: Store; announcer: Announcer }) {
  /** Tells endpoints what state it has come to. Whoever dies before that does this step again. */
  async function tell(record: SandboxRecord, { state }: Partial<SandboxRecord>, { eventId, at }: AuditEvent) {
    const event = state === undefined ? null : eventOfSandbox(record, { id: eventId, at });
    if (event) await announcer.tell(event);
  }

  /** Says in the record why the audit trail can't be continued, if it does not say so yet; or that it can be again. */
  async function withFault(record: SandboxRecord, auditFault: string | null): Promise<SandboxRecord> {
    if (auditFault === (record.auditFault ?? null)) return record;
    return store.sandboxes.update(record.id, { auditFault });
  }

  return {
    /**
     * The same request again changes nothing. Of one whose name is taken nothing is written, not even an entry.
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
     * Changes the record and appends to the audit trail. The event's id makes a repetition harmless.
     * @throws MayflyError sandbox_not_found: the store was set back to a time before it
     */
    async remember({ sandboxId, changes, event }: Remembrance): Promise<SandboxRecord> {
      const [record, fault] = await Promise.all([
        store.sandboxes.update(sandboxId, changes),
        store.audit.record(sandboxId, event),
        count(store, sandboxId, event),
      ]);
      if (isFinal(record.state)) await store.exposedPorts.closeAll(sandboxId);
      await tell(record, changes, event);
      return withFault(record, fault);
    },

    /**
     * Gives a member of a pool to the caller who has claimed it. Of one whose name is taken nothing is written.
     * @throws MayflyError name_taken
     */
    async recordClaim({ sandboxId, project, changes, event }: ClaimRemembrance): Promise<SandboxRecord> {
      const claim = () => store.sandboxes.claim({ id: sandboxId, project }, changes);
      const note = () => store.audit.record(sandboxId, event);
      const [record, fault] = changes.name ? [await claim(), await note()] : await Promise.all([claim(), note()]);
      await tell(record, changes, event);
      return withFault(record, fault);
    },

    /** Writes all of a record which the store has lost, or has an earlier one of. */
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

    /** The record of a sandbox that was found on a host; where there is none, it gets this one. */
    async recordFound({ record, event }: { record: SandboxRecord; event: AuditEvent }): Promise<SandboxRecord> {
      const present = await store.sandboxes.get(record.id);
      if (present) return present;
      await store.sandboxes.put(record);
      await store.audit.record(record.id, event);
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

/** How each is counted that a reconciliation brought about. */
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
