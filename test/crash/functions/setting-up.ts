import { text } from 'node:stream/consumers';
import { ask, outcomeOf } from '../asking.ts';
import { inStore } from '../losses.ts';
import type { Act, Stage } from '../stage.ts';
import { unlessGone } from './clearing.ts';
import { SAYS_ITS_NONCE } from './nonce.ts';
import { deployed, isOver, triggered, UNDER_WAY } from './program.ts';

const SOURCE = 'golden-debian12';
const wishOf = (key: string) => ({
  command: `${SAYS_ITS_NONCE}; echo made $(wc -l < ~/made)`,
  setup: { source: SOURCE, script: `echo ${key} >> ~/made` },
});

/** Returns `ready`, the reason it is not, or {@link UNDER_WAY} while it is prepared. */
async function stateOf(stage: Stage, name: string): Promise<string> {
  const [version] = (await ask(() => stage.client.functions.versions(name))).items;
  const { state, failure } = version?.setup ?? { state: 'none', failure: null };
  return state === 'preparing' ? UNDER_WAY : `${state}${failure ? `: ${failure.message}` : ''}`;
}

/** Sets a function up: its script runs once, and a run starts from the saved result. */
export const SET_A_FUNCTION_UP: Act = {
  prepare: async () => [],
  run: (stage, _ids, key) => {
    let name: string | undefined; // one name per act: a failed setup is prepared again for the next deploy
    return outcomeOf(async () => {
      name ??= await deployed(stage, key, wishOf(key));
      const state = await stateOf(stage, name);
      if (state !== 'ready') return state;
      const run = await triggered(stage, name, key);
      if (!isOver(run)) return UNDER_WAY;
      const said = await text((await ask(() => stage.client.runs.output(run.id))).bytes);
      return `${run.outcome}, ${/made \d+/.exec(said)?.[0]}`;
    }, 'succeeded, made 1');
  },
};

/** Deletes a setup that no version needs; nothing of it remains. */
export const TAKE_A_SETUP_BACK: Act = {
  prepare: async (stage) => {
    const key = crypto.randomUUID();
    const name = await deployed(stage, key, wishOf(key));
    const ready = await outcomeOf(() => stateOf(stage, name), 'ready');
    if (ready !== 'done') throw new Error(`a setup is ${ready}`);
    return [name];
  },
  run: (stage, [name = '']) =>
    outcomeOf(async () => {
      const { items } = await ask(() => stage.client.functions.list());
      if (items.some((each) => each.name === name)) await unlessGone(() => stage.client.functions.delete(name));
      const left = await inStore(stage.mayfly, (store) => store.collection('functionSetups').countDocuments());
      return left === 0 ? 'nothing' : 'deleting';
    }, 'nothing'),
};
