import { CancellationScope, setCurrentDetails } from '@temporalio/workflow';
import type { AuditKind } from '../../model/sandbox/audit.ts';
import { DEFAULT_TIMEOUTS } from '../../model/sandbox/timeouts.ts';
import type { SourceAccess, SourceInput } from '../../model/snapshots/source-access.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from './task-life.ts';

const { rememberSource } = controlUntilDone;

type Changes = Partial<Omit<SourceAccess, 'id' | 'hostId' | 'name' | 'updatedAt'>>;

/** One task on a source, as its workflow knows it. All writes of the source's record go through here. */
export class SourceLife extends TaskLife {
  #events = 0;

  constructor(readonly input: SourceInput) {
    super({ ...DEFAULT_TIMEOUTS, ...input.timeouts }.sourcePauseMs);
  }

  /** What the record says. */
  known(): Promise<SourceAccess> {
    const { sourceId: id, hostId, name } = this.input;
    return rememberSource({ source: { id, hostId, name }, changes: { updatedAt: now() }, event: null });
  }

  /** Changes the record; also when the workflow is being cancelled. */
  async recordChange(changes: Changes, said?: { kind: AuditKind; detail: Record<string, unknown> }): Promise<void> {
    const { sourceId: id, hostId, installationId = null, name, actor, task } = this.input;
    setCurrentDetails([task, changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const number = this.#events++; // also of a change without an event: ids of runs that began earlier stay
    const event = said ? auditEvent(number, { ...said, actor, hostId }) : null;
    await CancellationScope.nonCancellable(() =>
      rememberSource({
        source: { id, hostId, installationId, name },
        changes: { ...changes, updatedAt: now() },
        event,
      }),
    );
  }
}
