import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, createRunning, destroy, SMALL_MIB, WAIT } from './support/bench.ts';
import { type Figures, Samples } from './support/measure.ts';

const POOL = 'bench';
/** A member for each claim, and one under construction. */
const MEMBERS = 4;
/** Idle sandboxes during the measurement, and the concurrency of their creates. */
const ALIVE = 100;
const AT_ONCE = 10;
/** Concurrent creates, twice a round, and enough members for all of them. */
const BURST = 4;
const BURST_MEMBERS = 12;
/** Pause until the previous claim's work is done, ms: its refill must not slow the next claim. */
const QUIET_MS = 1_500;
const POLL_MS = 100;

/** Measures creates that claim a member of a pool, and commands in it: alone, concurrently, and with idle sandboxes. */
export async function measurePools(bench: Bench): Promise<Figures> {
  const { client, source, isSimulated, isQuick } = bench;
  const samples = new Samples();
  await setMembers(bench, MEMBERS);
  await claim(bench, samples, '');
  if (isSimulated) {
    await setMembers(bench, BURST_MEMBERS);
    await samples.rounds({ runs: isQuick ? 3 : 12, warmUp: 0 }, (counted) => claimAtOnce(bench, counted));
    await setMembers(bench, MEMBERS);
    const request = { source, boot: 'cold', memoryMib: SMALL_MIB, ttlSeconds: 7_200 } as const;
    for (let others = 0; others < ALIVE; others += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, () => createRunning(bench, request)));
    await claim(bench, samples, `, ${ALIVE} alive`);
  }
  await client.pools.delete(POOL, WAIT);
  return { spreads: samples.spreads() };
}

async function setMembers({ client, source }: Bench, members: number): Promise<void> {
  await client.pools.set(POOL, { source, min: members, max: members });
}

async function claim(bench: Bench, samples: Samples, beside: string): Promise<void> {
  const { client, runs } = bench;
  await samples.rounds({ runs, warmUp: 3 }, async (counted) => {
    await awaitMembers(bench, POOL, MEMBERS);
    const began = performance.now();
    const { id, boot } = await counted.time(`claim, POST to 201${beside}`, () => createRunning(bench));
    if (boot?.way !== 'warm') throw new Error(`${id} came to its machine otherwise: ${JSON.stringify(boot)}`);
    await counted.time(`the first command${beside}`, () => client.commands.run(id, { argv: ['true'] }));
    counted.add(`POST to the end of a first command${beside}`, performance.now() - began);
    await counted.time(`the second command${beside}`, () => client.commands.run(id, { argv: ['true'] }));
    await destroy(bench, id);
  });
}

/** Claims concurrently: on an idle host, and while members are created and others destroyed. */
async function claimAtOnce(bench: Bench, samples: Samples): Promise<void> {
  const burst = (beside: string) => {
    const name = `claim, ${BURST} at once, ${beside}`;
    return Promise.all(Array.from({ length: BURST }, () => samples.time(name, () => createRunning(bench))));
  };
  const end = (made: { id: string }[]) => Promise.all(made.map(({ id }) => destroy(bench, id)));
  await awaitMembers(bench, POOL, BURST_MEMBERS);
  const quiet = await burst('nothing else under way');
  while ((await warmIn(bench, POOL)) <= BURST_MEMBERS - BURST) await sleep(POLL_MS); // one is ready, and more follow
  const ending = end(quiet);
  const busy = await burst('members made and others destroyed');
  await Promise.all([ending, end(busy)]);
}

/** Waits until all members of a pool are warm, and the host is idle. */
export async function awaitMembers(bench: Bench, pool: string, count: number): Promise<void> {
  while ((await warmIn(bench, pool)) !== count) await sleep(POLL_MS);
  await sleep(QUIET_MS);
}

async function warmIn({ client }: Bench, pool: string): Promise<number> {
  return (await client.pools.get(pool)).members.filter(({ state }) => state === 'warm').length;
}
