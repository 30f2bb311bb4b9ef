import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../client/mayfly-client.ts';
import { Samples, type Spread } from './measure/measure.ts';

const POOL = 'bench';
/** A member for each claim, and one that is being made meanwhile. */
const MEMBERS = 4;
const MAX_WAIT_SECONDS = 240;
const LOOK_MS = 100;
/** Until nothing is done of the claim before: what a refill takes away is not a claim's. Milliseconds. */
const QUIET_MS = 1_500;
/** Sandboxes that are made at once. */
const AT_ONCE = 10;

interface PoolBench {
  client: MayflyClient;
  source: string;
  /** Claims, alone and beside others. */
  runs: number;
  /** Sandboxes that live besides. */
  alive: number;
}

/**
 * What a create costs that has a member of a pool: until it is answered, and until a first command in it has answered. First
 * beside nothing, then beside sandboxes that do nothing.
 */
export async function measurePools({ client, source, runs, alive }: PoolBench): Promise<Record<string, Spread>> {
  const samples = new Samples();
  await client.pools.set(POOL, { source, min: MEMBERS, max: MEMBERS });
  await claims(client, source, 3, new Samples(), '');
  await claims(client, source, runs, samples, '');
  const others: string[] = [];
  for (let left = alive; left > 0; left -= AT_ONCE) {
    const made = Array.from({ length: Math.min(left, AT_ONCE) }, () =>
      client.createSandbox({ source, boot: 'cold', ttlSeconds: 7_200 }, { waitSeconds: MAX_WAIT_SECONDS }),
    );
    others.push(...(await Promise.all(made)).map(({ id }) => id));
  }
  if (alive > 0) await claims(client, source, runs, samples, `, ${alive} alive`);
  await client.pools.delete(POOL, { waitSeconds: MAX_WAIT_SECONDS });
  return samples.spreads();
}

async function claims(client: MayflyClient, source: string, runs: number, samples: Samples, beside: string) {
  for (let run = 0; run < runs; run++) {
    await filled(client);
    const began = performance.now();
    const { id, boot } = await samples.time(`claim, POST to 201${beside}`, () =>
      client.createSandbox({ source }, { waitSeconds: MAX_WAIT_SECONDS }),
    );
    if (boot?.way !== 'warm') throw new Error(`${id} came to its machine otherwise: ${JSON.stringify(boot)}`);
    await samples.time(`the first command${beside}`, () => client.commands.run(id, { argv: ['true'] }));
    samples.add(`POST to the end of a first command${beside}`, performance.now() - began);
    await samples.time(`the second command${beside}`, () => client.commands.run(id, { argv: ['true'] }));
    await client.destroySandbox(id, { waitSeconds: MAX_WAIT_SECONDS });
  }
}

/** Until all of its members are there, and nothing is done. */
async function filled(client: MayflyClient): Promise<void> {
  for (;;) {
    const { members } = await client.pools.get(POOL);
    if (members.filter(({ state }) => state === 'warm').length === MEMBERS) break;
    await sleep(LOOK_MS);
  }
  await sleep(QUIET_MS);
}
