import { text } from 'node:stream/consumers';
import { ask, outcomeOf } from './asking.ts';
import type { Act } from './stage.ts';

/** Each process that is started says another word: so many words, so many processes. */
const SAYS_ITS_WORD = 'cat /proc/sys/kernel/random/uuid; echo \'"done"\' > $MAYFLY_RESULT';

/** One event is one run, and its attempt one started process; its result is fetched, and nothing of its sandbox is left. */
export const RUN_A_FUNCTION: Act = {
  prepare: async () => [],
  run: (stage, _ids, key) =>
    outcomeOf(async () => {
      const { client } = stage;
      const name = `fn-${key.slice(0, 8)}`;
      await ask(() => client.functions.deploy(name, { ...stage.made, command: SAYS_ITS_WORD }));
      const { id } = await ask(({ idempotencyKey }) => client.runs.create(name, {}, { idempotencyKey }), key);
      const { state, cleanup, outcome, attempts } = await ask(() => client.runs.get(id));
      if (state !== 'ended' || cleanup === 'pending') return 'creating';
      const said = attempts.length === 0 ? '' : await text((await ask(() => client.runs.output(id))).bytes);
      const words = said.split('\n').filter(Boolean).length;
      const { items } = await ask(() => client.runs.list({ function: name }));
      if (items.length !== 1) return `${items.length} runs of one event`;
      return outcome === 'succeeded' && words === 1 ? 'ran once' : `${outcome}, ${words} processes`;
    }, 'ran once'),
};
