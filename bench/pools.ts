import { setTimeout as sleep } from 'node:timers/promises';
import type { MayflyClient } from '../client/mayfly-client.ts';
import { BURST_MEMORY_MIB } from './burst.ts';
import { filled, warmIn } from './measure/filled-pool.ts';
import { Samples, type Spread } from './measure/measure.ts';

const POOL = 'bench';
/** A member for each claim, and one that is being made meanwhile. */
const MEMBERS = 4;
const MAX_WAIT_SECONDS = 240;
const LOOK_MS = 100;
/** Sandboxes that are made at once. */
const AT_ONCE = 10;
/** Creates at once, twice a round, and so many members that none waits for another's. */
const BURST = 4;
const BURST_MEMBERS = 12;

interface PoolBench {
  client: MayflyClient;
  source: string;
  /** Claims, alone and beside others. */
  runs: number;
  /** How many sandboxes live besides, rising: claims beside each. */
  alive: readonly number[];
  /** Rounds of claims at once. */
  bursts: number;
}

/**
 * What a create costs that has a member of a pool: until it is answered, and until a first command in it has answered. First
 * beside nothing, then at once, then beside sandboxes that do nothing.
 */
export async function measurePools({
  client,
  source,
  runs,
  alive,
  bursts,
}: PoolBench): Promise<Record<string, Spread>> {
  const samples = new Samples();
  await client.pools.set(POOL, { source, min: MEMBERS, max: MEMBERS });
  await claims(client, source, 3, new Samples(), '');
  await claims(client, source, runs, samples, '');
  if (bursts > 0) await measureBursts(client, source, bursts, samples);
  let others = 0;
  for (const count of alive) {
    for (; others < count; others += AT_ONCE) {
      const made = Array.from({ length: AT_ONCE }, () =>
        client.createSandbox(
          { source, boot: 'cold', memoryMib: BURST_MEMORY_MIB, ttlSeconds: 7_200 },
          { waitSeconds: MAX_WAIT_SECONDS },
        ),
      );
      await Promise.all(made);
    }
    await claims(client, source, runs, samples, `, ${count} alive`);
  }
  await client.pools.delete(POOL, { waitSeconds: MAX_WAIT_SECONDS });
  return samples.spreads();
}

async function claims(client: MayflyClient, source: string, runs: number, samples: Samples, beside: string) {
  for (let run = 0; run < runs; run++) {
    await filled(client, POOL, MEMBERS);
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

/** Claims at once when nothing else is done, and while members are made and others are destroyed. */
async function measureBursts(client: MayflyClient, source: string, rounds: number, samples: Samples): Promise<void> {
  await client.pools.set(POOL, { source, min: BURST_MEMBERS, max: BURST_MEMBERS });
  for (let round = 0; round < rounds; round++) {
    await filled(client, POOL, BURST_MEMBERS);
    const quiet = await burst(client, source, samples, 'nothing else under way');
    while ((await warmIn(client, POOL)) <= BURST_MEMBERS - BURST) await sleep(LOOK_MS); // one is made, and so are the next
    const ending = destroyed(client, quiet);
    const busy = await burst(client, source, samples, 'members made and others destroyed');
    await Promise.all([ending, destroyed(client, busy)]);
  }
  await client.pools.set(POOL, { source, min: MEMBERS, max: MEMBERS });
}

/** @returns their ids */
async function burst(client: MayflyClient, source: string, samples: Samples, beside: string): Promise<string[]> {
  const one = async () => {
    const began = performance.now();
    const { id, boot } = await client.createSandbox({ source }, { waitSeconds: MAX_WAIT_SECONDS });
    const how = boot?.way === 'warm' ? '' : ', without a member';
    samples.add(`claim, ${BURST} at once, ${beside}${how}`, performance.now() - began);
    return id;
  };
  return Promise.all(Array.from({ length: BURST }, one));
}

async function destroyed(client: MayflyClient, ids: readonly string[]): Promise<void> {
  await Promise.all(ids.map((id) => client.destroySandbox(id, { waitSeconds: MAX_WAIT_SECONDS })));
}
