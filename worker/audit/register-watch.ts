import type { Logger } from 'pino';
import type { Store } from '../../store/connect.ts';

/** Interval between two records of the chains' heads, ms: truncating entries appended since then may go unnoticed. */
export const RECORD_INTERVAL_MS = 60_000;

/** Records new chains, their heads and API keys in the audit's transparency log. */
export class TransparencyRecorder {
  #hasCaughtUp = false;

  constructor(
    private readonly store: Pick<Store, 'audit' | 'apiKeys'>,
    private readonly logger: Logger,
  ) {}

  /** Never rejects: a failure of the audit blocks nothing. Missed entries are recorded by the next call. */
  async look(): Promise<void> {
    const { audit, apiKeys } = this.store;
    try {
      if (!this.#hasCaughtUp) await audit.catchUp();
      this.#hasCaughtUp = true;
      await audit.noteKeys(await apiKeys.list());
      await audit.noteHeads();
    } catch (error) {
      this.logger.error({ err: error }, 'the register of the audit is not up to date. Run `mayfly audit verify`');
    }
  }
}
