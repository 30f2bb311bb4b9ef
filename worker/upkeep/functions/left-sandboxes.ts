import type { Logger } from 'pino';
import { isMayflyError } from '../../../model/errors.ts';
import { isRunId } from '../../../model/ids.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import type { Store } from '../../../store/connect.ts';
import type { Reconciliation } from '../../../temporal/reconciliation.ts';

/** What is younger may be written down yet. Milliseconds. */
const YOUNG_MS = 300_000;

/**
 * Ends the sandboxes of runs that are over. A worker that was taken for dead may be granted a member of a pool when the attempt
 * for which it asked is over, and nobody else knows of it.
 */
export class LeftSandboxes {
  constructor(
    private readonly store: Pick<Store, 'runMembers' | 'runs' | 'sandboxes'>,
    private readonly reconciliation: Pick<Reconciliation, 'sandboxes'>,
    private readonly logger: Logger,
  ) {}

  /** @param now milliseconds since 1970. `@default` the present time */
  async look(now = Date.now()): Promise<void> {
    for (const id of await this.store.runMembers.sandboxes(new Date(now - YOUNG_MS).toISOString())) {
      await this.#endIfLeft(id);
    }
  }

  /** One that cannot be judged does not keep the others. @throws MayflyError store_unavailable */
  async #endIfLeft(id: string): Promise<void> {
    try {
      if (await this.#isLeft(id)) await this.#end(id);
    } catch (error) {
      if (isMayflyError(error, 'store_unavailable')) throw error;
      this.logger.warn({ err: error, sandboxId: id }, 'a sandbox of a run is looked at again in a minute');
    }
  }

  async #isLeft(id: string): Promise<boolean> {
    const sandbox = await this.store.sandboxes.get(id);
    const runId = sandbox?.spec.metadata['run'];
    if (!sandbox || isFinal(sandbox.state) || runId === undefined || !isRunId(runId)) return false;
    const run = (await this.store.runs.ends([runId])).get(runId); // a store that was set back knows of an earlier attempt: only the end is certain
    return run?.state === 'ended' && run.cleanup !== 'pending';
  }

  async #end(id: string): Promise<void> {
    this.logger.warn({ sandboxId: id }, 'a sandbox of a run that is over ends');
    await this.reconciliation.sandboxes.end(id);
  }
}
