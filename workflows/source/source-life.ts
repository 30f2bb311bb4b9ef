import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SourceAccess, SourceInput } from '../../model/snapshots/source-access.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { RecordedTask } from './task-life.ts';

type Changes = Partial<Omit<SourceAccess, 'id' | 'hostId' | 'name' | 'updatedAt'>>;

/** One task on a source. */
export class SourceLife extends RecordedTask<Changes, SourceAccess> {
  constructor(readonly input: SourceInput) {
    super(input, input.timeouts);
  }

  /** What the record says. */
  known(): Promise<SourceAccess> {
    return this.write({ updatedAt: now() }, null);
  }

  protected override write(changes: Changes & { updatedAt: string }, event: AuditEvent | null): Promise<SourceAccess> {
    const { sourceId: id, hostId, installationId, name } = this.input;
    return controlUntilDone.rememberSource({ source: { id, hostId, installationId, name }, changes, event });
  }
}
