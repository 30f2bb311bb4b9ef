import type { ImageRequest } from './image.ts';

/** What programs say whose disk is full (strerror(ENOSPC), apt). */
const FULL = /No space left on device|You don't have enough free space|Disk quota exceeded|ENOSPC/;
/** What resolvers, apt, curl, git, pip and npm say when they reach nobody. */
const UNREACHABLE =
  /Temporary failure (?:in name resolution|resolving)|Could not resolve|Name or service not known|Network is unreachable|Unable to connect|Failed to establish a new connection|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ETIMEDOUT/;

/** Why a step may have failed, of what it wrote last: a guess, said as one. Null: nothing tells. */
export function hintOf(log: string, { network }: Pick<ImageRequest, 'network'>): string | null {
  if (FULL.test(log)) return 'its disk seems to be full: a source with a larger one has room';
  if (!UNREACHABLE.test(log)) return null;
  if (network.egress === 'none')
    return 'it reaches nobody: `network` is none (`--network internet` has it reach the internet)';
  return 'it seems not to reach what it asks for';
}
