import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { BakeChange } from '../../activities/source/baked-source.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { DeleteSourceInput } from '../../model/snapshots/bake-saga.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import { controlUntilDone } from '../saga/control.ts';
import { PROFILE } from '../saga/profiles.ts';
import { RecordedTask } from './task-life.ts';

const { awaitListed } = proxyActivities<ControlActivities>(PROFILE.follow());

/** Task on one baked source. */
export class BakeTask extends RecordedTask<BakeChange['changes'], BakedSource> {
  constructor(private readonly input: DeleteSourceInput) {
    super(input, input.timeouts);
  }

  /** @returns the recorded bake, which may have ended. @throws ApplicationFailure source_exists */
  async begin(record: BakedSource): Promise<BakedSource> {
    const { snapshotId, builderId } = record;
    const event = this.event({ kind: 'source.baking', detail: { snapshotId, builderId } });
    return CancellationScope.nonCancellable(() => controlUntilDone.recordBake({ record, event }));
  }

  /** Resolves when its host lists it, or no longer does. */
  async listed(isThere: boolean): Promise<void> {
    const { name, hostId } = this.input;
    await this.retryUntilDone('awaitListed', () => awaitListed({ hostId, name, isThere }));
  }

  protected override write(changes: BakeChange['changes'], event: AuditEvent | null): Promise<BakedSource> {
    return controlUntilDone.rememberBake({ sourceId: this.input.sourceId, changes, event });
  }
}
