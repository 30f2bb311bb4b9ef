import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../../client/mayfly-client.ts';

const LOOK_MS = 100;
/** Until nothing is done of the claim before: what a refill takes away is not a claim's. Milliseconds. */
const QUIET_MS = 1_500;

/** Until all members of a pool are there, and nothing is done. */
export async function filled(client: MayflyClient, pool: string, count: number): Promise<void> {
  while ((await warmIn(client, pool)) !== count) await sleep(LOOK_MS);
  await sleep(QUIET_MS);
}

export async function warmIn(client: MayflyClient, pool: string): Promise<number> {
  return (await client.pools.get(pool)).members.filter(({ state }) => state === 'warm').length;
}
