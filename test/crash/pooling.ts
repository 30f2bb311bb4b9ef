import { ask, outcomeOf } from './asking.ts';
import { type Act, type Stage, wish } from './stage.ts';

const POOL = 'ready';

/** Returns `warm` when the pool has a claimable member; else the pool's reason. */
async function filled({ client, made }: Stage, which: { shared?: boolean } = {}): Promise<string> {
  if (!('source' in made)) throw new Error('members of pools are made of a source');
  return outcomeOf(async () => {
    await ask(() => client.pools.set(POOL, { ...made, ...which, memoryMib: 64, min: 1, max: 1 }));
    const { members, reason } = await ask(() => client.pools.get(POOL, which));
    if (members.some(({ state }) => state === 'warm')) return 'warm';
    return reason ?? 'creating';
  }, 'warm');
}

export const createRunning: Act['run'] = (stage, _ids, key) =>
  outcomeOf(async () => {
    const { id } = await ask((o) => stage.client.createSandbox(wish(stage), o), key);
    return (await ask(() => stage.client.getSandbox(id))).state; // answers with 202 carry the requested state
  }, 'running');

/** Claims a member of a pool, or creates a sandbox when there is none. */
export const claimOf = (which: { shared?: boolean }): Act => ({
  prepare: async (stage) => [await filled(stage, which)],
  run: createRunning,
});

export const FILL_A_POOL: Act = { prepare: async () => [], run: (stage) => filled(stage) };
