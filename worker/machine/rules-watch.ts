import type { Logger } from 'pino';
import { repeating } from '../../host/os/repeating.ts';

/** A look runs nft once. Milliseconds. */
const LOOK_EVERY_MS = 30_000;

/**
 * Has the rules that keep guests apart loaded again when somebody else has changed or flushed them.
 * @param mend loads them where they are not as they were, and says which tables those are
 * @returns what stops it
 */
export function watchRules(mend: () => Promise<string[]>, logger: Pick<Logger, 'error' | 'warn'>): () => Promise<void> {
  return repeating(async () => {
    try {
      const tables = await mend();
      if (tables.length > 0) logger.error({ tables }, 'the firewall was changed by somebody else; it is loaded again');
    } catch (error) {
      logger.warn({ err: error }, 'whether the firewall is whole could not be looked at; it is tried again');
    }
  }, LOOK_EVERY_MS);
}
