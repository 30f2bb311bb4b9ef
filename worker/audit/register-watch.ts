import type { Logger } from 'pino';
import type { Store } from '../../store/connect.ts';

/** How much of a chain that was cut back with its head may go unseen: what was appended since. Milliseconds. */
export const NOTE_EVERY_MS = 60_000;

/** Has the register of the audit know of every chain, how far it has come, and of API keys. */
export class RegisterWatch {
  #hasCaughtUp = false;

  constructor(
    private readonly store: Pick<Store, 'audit' | 'apiKeys'>,
    private readonly logger: Logger,
  ) {}

  /** Never rejects: a fault of the audit stops nobody. What was not told is told the next time. */
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
