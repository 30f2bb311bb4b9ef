import type { Logger } from 'pino';
import { isMayflyError } from '../../../model/errors.ts';
import { isRunId } from '../../../model/ids.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../../store/connect.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';

/** Age below which a sandbox may not be recorded yet, ms. */
const YOUNG_MS = 300_000;

/**
 * Destroys orphaned sandboxes of finished runs. A worker taken for dead may claim a pool member after its attempt has
 * ended, unknown to any other process.
 */
export class OrphanedRunSandboxes {
  constructor(
    private readonly store: Pick<Store, 'runMembers' | 'runs' | 'sandboxes'>,
    private readonly reconciliation: Pick<ControlTemporalClient, 'sandboxes'>,
    private readonly logger: Logger,
  ) {}

  /** @param now milliseconds since 1970. `@default` the present time */
  async look(now = Date.now()): Promise<void> {
    for (const id of await this.store.runMembers.sandboxes(new Date(now - YOUNG_MS).toISOString())) {
      await this.#destroyIfOrphaned(id);
    }
  }

  /** An error for one sandbox does not block the others. @throws MayflyError store_unavailable */
  async #destroyIfOrphaned(id: string): Promise<void> {
    try {
      if (await this.#isOrphaned(id)) await this.#end(id);
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) throw error;
      this.logger.warn({ err: error, sandboxId: id }, 'a sandbox of a run is looked at again in a minute');
    }
  }

  async #isOrphaned(id: string): Promise<boolean> {
    const sandbox = await this.store.sandboxes.get(id);
    const runId = sandbox?.spec.metadata['run'];
    if (!sandbox || isFinal(sandbox.state) || runId === undefined || !isRunId(runId)) return false;
    const run = (await this.store.runs.ends([runId])).get(runId); // store may be restored: only an end is certain
    return run?.state === 'ended' && run.cleanup !== 'pending';
  }

  async #end(id: string): Promise<void> {
    this.logger.warn({ sandboxId: id }, 'a sandbox of a run that is over ends');
    await this.reconciliation.sandboxes.end(id);
  }
}
