import { CancellationScope, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import type { BakedRemembrance } from '../../activities/source/baked-source.ts';
import type { HostRef } from '../../model/host.ts';
import type { AuditEvent, AuditKind } from '../../model/sandbox/audit.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { DEFAULT_TIMEOUTS, type Timeouts } from '../../model/sandbox/timeouts.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import { optionsUntilDone } from '../life/retry-until-done.ts';
import { auditEvent } from '../saga/audit-event.ts';
import { controlUntilDone } from '../saga/control.ts';
import { now } from '../saga/now.ts';
import { TaskLife } from './task-life.ts';

/** A host, or a store, that is down gets its work when it is back. */
export const UNTIL_DONE = optionsUntilDone('5m');

const { awaitListed } = proxyActivities<ControlActivities>(UNTIL_DONE);

/** What is done to one baked source, as its workflow knows it. All writes of its record go through here. */
export class BakeLife extends TaskLife {
  #events = 0;

  constructor(
    readonly sourceId: string,
    readonly host: HostRef,
    readonly name: string,
    private readonly actor: Actor,
    timeouts: Partial<Timeouts> = {},
  ) {
    super({ ...DEFAULT_TIMEOUTS, ...timeouts }.taskPauseMs);
  }

  /** @returns what is known of that bake; it may be over. @throws ApplicationFailure source_exists */
  async begin(record: BakedSource): Promise<BakedSource> {
    const event = this.#event('source.baking', { snapshotId: record.snapshotId, builderId: record.builderId });
    return CancellationScope.nonCancellable(() => controlUntilDone.recordBake({ record, event }));
  }

  /** Changes the record; also when the workflow is being cancelled. */
  async recordChange(
    changes: BakedRemembrance['changes'],
    said?: { kind: AuditKind; detail: Record<string, unknown> },
  ): Promise<BakedSource> {
    setCurrentDetails([changes.state, changes.waitingFor].filter(Boolean).join(' · '));
    const event = said ? this.#event(said.kind, said.detail) : null;
    return CancellationScope.nonCancellable(() =>
      controlUntilDone.rememberBake({ sourceId: this.sourceId, changes: { ...changes, updatedAt: now() }, event }),
    );
  }

  /** Resolves when its host lists it, or lists it no more. */
  async listed(isThere: boolean): Promise<void> {
    const { name } = this;
    const { hostId } = this.host;
    await this.retryUntilDone('awaitListed', () => awaitListed({ hostId, name, isThere }));
  }

  #event(kind: AuditKind, detail: Record<string, unknown>): AuditEvent {
    const { actor } = this;
    const { hostId } = this.host;
    return auditEvent(this.#events++, { kind, actor, hostId, detail });
  }
}
