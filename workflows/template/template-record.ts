import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import type { TemplateRecord } from '../../model/templates/template.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from '../source/task-life.ts';
import type { TemplateLife } from './template-life.ts';

type Changes = Partial<Omit<TemplateRecord, 'id' | 'key' | 'hostId'>>;

/** The record of one template, and what is done to that. All writes of it go through here. */
export class RecordedTemplate extends TaskLife {
  /** @param record as the store has it, or is to have it */
  constructor(
    readonly life: TemplateLife,
    public record: TemplateRecord,
  ) {
    super(life.timeouts.taskPauseMs);
  }

  /** Changes the record; also when the workflow is being cancelled. @param kind of the entry in the audit trail, if any */
  async recordChange(changes: Changes, kind: AuditKind | null = null): Promise<void> {
    this.record = { ...this.record, ...changes, updatedAt: now() };
    const { id, state, reason, waitingFor, hostId, source, createdBy } = this.record;
    setCurrentDetails([id, state, waitingFor ?? reason].filter(Boolean).join(' · '));
    const detail = { templateId: id, source, state, reason };
    const event = kind && auditEvent(this.life.nextEvent(), { kind, actor: createdBy, hostId, detail });
    const { record } = this;
    await CancellationScope.nonCancellable(() => controlUntilDone.recordTemplate({ record, event }));
  }
}
