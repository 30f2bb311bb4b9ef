import type { PlaybookRecord } from '../../model/playbook/playbook.ts';
import type { PlaybookInput } from '../../model/playbook/playbook-saga.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { controlUntilDone } from '../saga/control.ts';
import { RecordedTask } from '../source/task-life.ts';

/** Task of one playbook. A change of its record returns true when it was final before: the workflow was reset. */
export class PlaybookTask extends RecordedTask<Partial<PlaybookRecord>, boolean> {
  constructor(readonly input: PlaybookInput) {
    const { playbookId, host, actor } = input;
    super({ actor, hostId: host.hostId, detail: { playbookId } }, input.timeouts);
  }

  protected override write(changes: Partial<PlaybookRecord>, event: AuditEvent | null): Promise<boolean> {
    const { playbookId, sandboxId } = this.input;
    return controlUntilDone.rememberPlaybook({ playbookId, sandboxId, changes, event });
  }
}
