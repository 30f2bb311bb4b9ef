import { text } from 'node:stream/consumers';
import { ask, outcomeOf } from '../asking.ts';
import { inStore } from '../losses.ts';
import type { Act, Stage } from '../stage.ts';
import { SAYS_ITS_NONCE } from './nonce.ts';
import { deployed, isOver, triggered, UNDER_WAY } from './program.ts';

const SOURCE = 'golden-debian12';
const wishOf = (key: string) => ({
  command: `${SAYS_ITS_NONCE}; echo made $(wc -l < ~/made)`,
  setup: { source: SOURCE, script: `echo ${key} >> ~/made` },
});

/** `ready`, or why it is not; of what is still prepared {@link UNDER_WAY}. */
async function setUp(stage: Stage, key: string): Promise<{ name: string; state: string }> {
  const name = await deployed(stage, key, wishOf(key));
  const [version] = (await ask(() => stage.client.functions.versions(name))).items;
  const { state, failure } = version?.setup ?? { state: 'none', failure: null };
  return { name, state: state === 'preparing' ? UNDER_WAY : `${state}${failure ? `: ${failure.message}` : ''}` };
}

/** What is saved is what its script made once, and a run begins with it. */
export const SET_A_FUNCTION_UP: Act = {
  prepare: async () => [],
  run: (stage, _ids, key) =>
    outcomeOf(async () => {
      const { name, state } = await setUp(stage, key);
      if (state !== 'ready') return state;
      const run = await triggered(stage, name, key);
      if (!isOver(run)) return UNDER_WAY;
      const said = await text((await ask(() => stage.client.runs.output(run.id))).bytes);
      return `${run.outcome}, ${/made \d+/.exec(said)?.[0]}`;
    }, 'succeeded, made 1'),
};

/** Nothing of a setup is left when no version needs it any more. */
export const TAKE_A_SETUP_BACK: Act = {
  prepare: async (stage) => {
    const key = crypto.randomUUID();
    const ready = await outcomeOf(async () => (await setUp(stage, key)).state, 'ready');
    if (ready !== 'done') throw new Error(`a setup is ${ready}`);
    return [`fn-${key.slice(0, 8)}`];
  },
  run: (stage, [name = '']) =>
    outcomeOf(async () => {
      const { items } = await ask(() => stage.client.functions.list());
      if (items.some((each) => each.name === name)) await ask(() => stage.client.functions.delete(name));
      const left = await inStore(stage.mayfly, (store) => store.collection('functionSetups').countDocuments());
      return left === 0 ? 'nothing' : 'deleting';
    }, 'nothing'),
};
