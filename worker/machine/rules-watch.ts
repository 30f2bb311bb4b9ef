import type { Logger } from 'pino';
import { setIntervalAsync } from '../../host/os/repeating.ts';

/** Interval between two checks, ms; each runs nft once. */
const CHECK_INTERVAL_MS = 30_000;

/**
 * Reloads the firewall rules that isolate guests when another program has changed or flushed them.
 * @param mend reloads changed rules, and returns their tables
 * @returns stops it
 */
export function watchRules(mend: () => Promise<string[]>, logger: Pick<Logger, 'error' | 'warn'>): () => Promise<void> {
  return setIntervalAsync(async () => {
    try {
      const tables = await mend();
      if (tables.length > 0) logger.error({ tables }, 'the firewall was changed by somebody else; it is loaded again');
    } catch (error) {
      logger.warn({ err: error }, 'whether the firewall is whole could not be looked at; it is tried again');
    }
  }, CHECK_INTERVAL_MS);
}
