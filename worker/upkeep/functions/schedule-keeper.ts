import type { Logger } from 'pino';
import type { ScheduleRecord } from '../../../model/schedules/schedule.ts';
import type { Store } from '../../../store/connect.ts';
import type { ScheduleWorkflows } from '../../../temporal/client/schedules.ts';

/** Page size of one poll, and its concurrency. */
const [AT_ONCE, BESIDE] = [200, 8];
/** Retry interval of waking a workflow after a change, ms. */
const RETRY_MS = 30_000;

/** Wakes the workflows of changed schedules, and restarts missing ones. Safe in any number of processes. */
export class ScheduleKeeper {
  constructor(
    private readonly store: Pick<Store, 'schedules' | 'scheduleTimes'>,
    private readonly workflows: Pick<ScheduleWorkflows, 'wake' | 'ensure' | 'withoutWorkflow'>,
    private readonly logger: Logger,
  ) {}

  async wake(): Promise<void> {
    const { schedules } = this.store;
    const due = await schedules.due(new Date().toISOString(), AT_ONCE);
    await this.#each(due, async (found) => {
      const { version, wakeAt } = found;
      const isOwn = await schedules.change(
        found,
        { wakeAt: new Date(Date.now() + RETRY_MS).toISOString() },
        { version },
      );
      if (!isOwn) return; // changed since, or another process wakes it
      try {
        await this.workflows.wake(found);
      } catch (error) {
        await schedules.change(found, { wakeAt }, { version: version + 1 }).catch(() => false);
        throw error;
      }
    });
  }

  /** Restarts workflows that were terminated, or lost with Temporal's database. */
  async ensure(): Promise<void> {
    const gone = await this.workflows.withoutWorkflow(await this.store.schedules.all());
    await this.#each(gone, (ref) => this.workflows.ensure(ref));
  }

  /** Removes times whose retention has expired. */
  async removePast(): Promise<void> {
    await this.store.scheduleTimes.prune(new Date().toISOString());
  }

  async #each<T extends Pick<ScheduleRecord, 'project' | 'name'>>(
    refs: T[],
    act: (ref: T) => Promise<void>,
  ): Promise<void> {
    const left = [...refs];
    const worker = async () => {
      for (let ref = left.shift(); ref; ref = left.shift()) {
        try {
          await act(ref);
        } catch (error) {
          const { project, name } = ref;
          this.logger.info({ err: error, project, name }, 'the workflow of a schedule was not reached; retry follows');
        }
      }
    };
    await Promise.all(Array.from({ length: BESIDE }, worker));
  }
}
