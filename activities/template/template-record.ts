import { createHash, randomBytes } from 'node:crypto';
import { MayflyError } from '../../model/errors.ts';
import { deriveSourceId, ID_BYTES, sandboxIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { PRESENT_TEMPLATE_STATES, type TemplateRecord } from '../../model/templates/template.ts';
import type { TemplateIds, TemplateInput, TemplateRequest } from '../../model/templates/template-saga.ts';
import type { SagaDeps } from '../step/saga-deps.ts';

type TemplateKeyRef = Pick<TemplateInput, 'hostId' | 'templateKey'>;
type TemplateOutcome = Pick<TemplateRecord, 'state' | 'reason'>;

const PROBES = 2;

/** Derives the ids of a template's sandboxes from its own. */
export function templateIdsOf(templateId: string): TemplateIds {
  const idOf = (what: string) =>
    sandboxIdFrom(createHash('sha256').update(`${templateId}/${what}`).digest().subarray(0, ID_BYTES));
  const probeIds = Array.from({ length: PROBES }, (_, nth) => idOf(`probe/${nth}`));
  return { templateId, builderId: idOf('builder'), probeIds };
}

/** Activities on the records of templates, and reads of their workflows. */
export function createTemplateRecordActivities({ store, reconciliation }: SagaDeps) {
  async function present({ hostId, templateKey }: TemplateKeyRef): Promise<TemplateRecord[]> {
    const all = await store.templates.all(PRESENT_TEMPLATE_STATES);
    return all.filter((each) => each.hostId === hostId && each.key === templateKey);
  }

  return {
    /** Returns the requested id's ids, or new ones when a template has that id. */
    async templateIds({ templateId }: Pick<TemplateRequest, 'templateId'>): Promise<TemplateIds> {
      const isFree = templateId !== undefined && (await store.templates.get(templateId)) === null;
      return templateIdsOf(isFree ? templateId : snapshotIdFrom(randomBytes(ID_BYTES)));
    },

    /** Writes the whole record, and appends to the audit trail of its source. Idempotent by the event's id. */
    async recordTemplate({ record, event }: { record: TemplateRecord; event: AuditEvent | null }): Promise<void> {
      await store.templates.put(record);
      if (event) await store.audit.record(deriveSourceId(record.hostId, record.source), event);
    },

    async recallTemplates(of: TemplateKeyRef): Promise<TemplateRecord[]> {
      return present(of);
    },

    async createsUnderWay({ hostId }: { hostId: string }): Promise<{ count: number }> {
      const creating = await store.sandboxes.all(['requested', 'creating']);
      return { count: creating.filter((record) => record.hostId === hostId).length };
    },

    /** Checks that machines woken from one memory are distinct. @throws MayflyError template_failed */
    async compareProbes({ probeIds }: TemplateIds): Promise<void> {
      const probes = await Promise.all(probeIds.map((id) => store.sandboxes.get(id)));
      const said = {
        'host keys': probes.map((probe) => probe?.ssh?.hostKey),
        addresses: probes.map((probe) => probe?.ssh && `${probe.ssh.address} ${probe.ssh.port}`),
        'MAC addresses': probes.map((probe) => probe?.macAddress),
      };
      for (const [what, values] of Object.entries(said)) {
        const known = new Set(values.filter((value) => value));
        if (known.size === probeIds.length) continue;
        throw new MayflyError(
          'template_failed',
          `${probeIds.join(' and ')} woke with the same ${what}, or without any.`,
        );
      }
    },

    /** Signals the key's workflow that a template is wanted; starts it if necessary. */
    async wantTemplate({ input, wish }: { input: TemplateInput; wish: TemplateRequest }): Promise<void> {
      await reconciliation.templates.want(input, wish);
    },

    /** Returns a template of that key that has not failed; null: none. */
    async findTemplate(of: TemplateKeyRef): Promise<{ templateId: string } | null> {
      const record = (await present(of)).find(({ state }) => state !== 'failed');
      return record ? { templateId: record.id } : null;
    },

    /** Returns the outcome of a build, `gone` without a record; null while it runs. */
    async readTemplateOutcome({ templateId }: { templateId: string }): Promise<TemplateOutcome | null> {
      const { state, reason } = (await store.templates.get(templateId)) ?? { state: 'gone' as const, reason: null };
      return state === 'building' || state === 'verifying' ? null : { state, reason };
    },
  };
}
