import type { ImageRequest } from './image.ts';

/** Messages about a full disk (strerror(ENOSPC), apt). */
const FULL = /No space left on device|You don't have enough free space|Disk quota exceeded|ENOSPC/;
/** Network errors of resolvers, apt, curl, git, pip and npm. */
const UNREACHABLE =
  /Temporary failure (?:in name resolution|resolving)|Could not resolve|Name or service not known|Network is unreachable|Unable to connect|Failed to establish a new connection|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT/;

/** Guesses from the end of a step's output why it failed; null: no guess. */
export function guessFailureCause(log: string, { network }: Pick<ImageRequest, 'network'>): string | null {
  if (FULL.test(log)) return 'its disk seems to be full: a source with a larger one has room';
  if (!UNREACHABLE.test(log)) return null;
  if (network.egress === 'none')
    return 'it reaches nobody: `network` is none (`--network internet` has it reach the internet)';
  return 'it seems not to reach what it asks for';
}
