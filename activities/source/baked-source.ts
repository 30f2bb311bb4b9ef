import { type ErrorCode, MayflyError } from '../../model/errors.ts';
import { type HostRef, RUNNING_PROBLEM } from '../../model/host.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { getHost, isCreateFinished, isSuspended, type SandboxState } from '../../model/sandbox/sandbox-state.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import type { Store } from '../../store/connect.ts';
import { pollUntil } from '../step/until.ts';

export interface BakeChange {
  sourceId: string;
  changes: Partial<Omit<BakedSource, 'id' | 'hostId' | 'name'>>;
  /** Event; null: none. */
  event: AuditEvent | null;
}

interface RunningWait {
  sandboxId: string;
  /** Code of a failure without a code. `@default` bake_failed */
  otherwise?: ErrorCode;
  /** True when it only needs to boot. `@default` false */
  isOffline?: boolean;
  /** True when it may be paused or hibernated since it ran. `@default` false */
  mayBeAsleep?: boolean;
}

interface PowerWait {
  hostId: string;
  name: string;
  isRunning: boolean;
  withinMs: number;
}

/** Activities on the records of baked sources, and waits of their workflows. */
export function createBakedSourceActivities({ store }: { store: Store }) {
  return {
    /**
     * Records a bake, over a failed or deleted one of that name.
     * @returns the recorded bake, which may have ended
     * @throws MayflyError source_exists
     */
    async recordBake({ record, event }: { record: BakedSource; event: AuditEvent }): Promise<BakedSource> {
      const present = await store.bakedSources.get(record.id);
      if (present?.bakeId === record.bakeId && present.state !== 'baking') return present;
      if (present && present.bakeId !== record.bakeId && present.state !== 'failed' && present.state !== 'deleted') {
        throw new MayflyError('source_exists', `${record.hostId} has a source ${record.name}: it is ${present.state}.`);
      }
      await Promise.all([store.bakedSources.begin(record), store.audit.record(record.id, event)]);
      return record;
    },

    /** Changes the record and appends to the audit trail. Idempotent by the event's id. */
    async rememberBake({ sourceId, changes, event }: BakeChange): Promise<BakedSource> {
      const [record] = await Promise.all([
        store.bakedSources.update(sourceId, changes),
        event && store.audit.record(sourceId, event),
      ]);
      return record;
    },

    /** Returns the host of a running sandbox, or its failure; null during its create. */
    async readCreateOutcome(wait: RunningWait): Promise<HostRef | Pick<SandboxFailure, 'code' | 'message'> | null> {
      const { sandboxId, otherwise = 'bake_failed', isOffline = false, mayBeAsleep = false } = wait;
      const found = await store.sandboxes.get(sandboxId);
      if (!found) return null;
      const { state, failure, steps } = found;
      const hasBooted = isOffline && state === 'creating' && steps.some(({ step }) => step === 'bootDomain');
      if (!isCreateFinished(state) && !hasBooted) return null;
      const host = getHost(found);
      if (host && (state === 'running' || hasBooted || (mayBeAsleep && isSuspended(state)))) return host;
      const { code, message } = failure ?? { code: otherwise, message: `it is ${state}` };
      return { code, message: `${sandboxId}, which was made for that: ${message}` };
    },

    /** Returns the recorded state of a sandbox; null: no record. */
    async stateOf({ sandboxId }: { sandboxId: string }): Promise<SandboxState | null> {
      return (await store.sandboxes.get(sandboxId))?.state ?? null;
    },

    /** Resolves when the host lists the source, or no longer does: placement follows that list. */
    async awaitListed({ hostId, name, isThere }: { hostId: string; name: string; isThere: boolean }): Promise<void> {
      await pollUntil(async () => {
        const host = (await store.hosts.list()).find(({ id }) => id === hostId);
        return host?.sources.some((source) => source.name === name) === isThere ? host : null;
      });
    },

    /** Resolves when the host reports the wanted power state, or no such source; at the timeout in any case. */
    async awaitPower({ hostId, name, isRunning, withinMs }: PowerWait): Promise<void> {
      const deadline = Date.now() + withinMs;
      await pollUntil(async () => {
        const host = (await store.hosts.list()).find(({ id }) => id === hostId);
        const source = host?.sources.find((one) => one.name === name);
        const isReported = !source || (isRunning ? !source.cloneable : source.problem !== RUNNING_PROBLEM);
        return isReported || Date.now() >= deadline ? true : null;
      });
    },
  };
}
