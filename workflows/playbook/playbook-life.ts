import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from '../source/task-life.ts';

/** One playbook, as its workflow knows it. All writes of its record go through here. */
export class PlaybookLife extends TaskLife {
  constructor(readonly input: PlaybookInput) {
    super({ ...DEFAULT_TIMEOUTS, ...input.timeouts }.taskPauseMs);
  }

  /** Changes the record. @returns whether it was over before: the workflow was reset */
  async recordChange(
    changes: Partial<PlaybookRecord>,
    said?: { kind: AuditKind; detail: Record<string, unknown> },
  ): Promise<boolean> {
    setCurrentDetails([changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const { playbookId, sandboxId, host, actor } = this.input;
    const about = { actor, hostId: host.hostId };
    const event = said
      ? auditEvent(said.kind, { ...about, kind: said.kind, detail: { playbookId, ...said.detail } })
      : null;
    const change = { playbookId, sandboxId, changes: { ...changes, updatedAt: now() }, event };
    return CancellationScope.nonCancellable(() => controlUntilDone.rememberPlaybook(change));
  }
}
