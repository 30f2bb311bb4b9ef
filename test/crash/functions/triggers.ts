import { randomUUID } from 'node:crypto';
import { ask, outcomeOf } from '../asking.ts';
import type { Act } from '../stage.ts';
import { SAYS_ITS_NONCE } from './nonce.ts';
import { deployed, isOver, triggered, UNDER_WAY } from './program.ts';
import { receiver } from './receiver.ts';

/** Triggers a schedule by hand: one event, one run. */
export const RUN_BY_A_SCHEDULE: Act = {
  prepare: async (stage) => {
    const name = await deployed(stage, randomUUID(), { command: SAYS_ITS_NONCE });
    await ask(() => stage.client.schedules.set(name, { function: name, every: '30d' }));
    return [name];
  },
  run: ({ client, ledger }, [name = ''], key) =>
    outcomeOf(async () => {
      await ask(({ idempotencyKey }) => client.schedules.trigger(name, {}, { idempotencyKey }), key);
      const { items } = await ask(() => client.runs.list({ function: name }));
      for (const { id } of items) ledger.accepted(id);
      const [run] = items;
      if (!run || !isOver(run)) return UNDER_WAY;
      const times = await ask(() => client.schedules.times(name));
      const told = times.items.map(({ state, runId }) => `${state} ${runId === run.id ? 'as that' : runId}`).join(', ');
      return `${items.length} run: ${run.outcome}, ${told}`;
    }, '1 run: succeeded, ran as that'),
};

/** Delivers the end of a run and its proof to an endpoint: at least once, always under the same id. */
export const DELIVER_A_WEBHOOK: Act = {
  prepare: async ({ client }) => {
    const url = (await receiver()).at(`/${randomUUID()}`);
    const types = ['run.ended', 'run.cleaned'] as const;
    const { id } = await ask((o) => client.webhookEndpoints.create({ url, types: [...types] }, o));
    return [id, new URL(url).pathname];
  },
  run: (stage, [endpoint = '', path = ''], key) =>
    outcomeOf(async () => {
      const run = await triggered(stage, await deployed(stage, key, { command: SAYS_ITS_NONCE }), key);
      if (!isOver(run)) return UNDER_WAY;
      const { items } = await ask(() => stage.client.webhookEndpoints.deliveries(endpoint));
      if (items.length < 2 || items.some(({ state }) => state === 'pending')) return UNDER_WAY;
      const heard = new Set((await receiver()).to(path).map(({ headers }) => headers['webhook-id']));
      const isAll = items.every(({ id }) => heard.has(id)) && heard.size === items.length;
      const states = items.map(({ state }) => state).join(', ');
      return `${run.outcome}: ${states}; ${isAll ? 'heard' : `heard of ${[...heard].join(', ')}`}`;
    }, 'succeeded: delivered, delivered; heard'),
};

/** Redrives two dead letters in bulk: one new run for each. */
export const REDRIVE_IN_BULK: Act = {
  prepare: async (stage) => {
    const name = await deployed(stage, randomUUID(), { command: `${SAYS_ITS_NONCE}; exit 3` });
    const keys = [randomUUID(), randomUUID()];
    const look = async () => (await Promise.all(keys.map((key) => triggered(stage, name, key)))).every(isOver);
    await outcomeOf(async () => ((await look()) ? 'over' : UNDER_WAY), 'over');
    return [name];
  },
  run: ({ client, ledger }, [name = ''], key) =>
    outcomeOf(async () => {
      const wish = { action: 'redrive' } as const;
      const { id } = await ask(
        ({ idempotencyKey }) => client.functions.startBulk(name, { ...wish, idempotencyKey }),
        key,
      );
      const { state, counts } = await ask(() => client.functions.bulk(name, id));
      const { items } = await ask(() => client.runs.list({ function: name }));
      const redriven = items.flatMap(({ redrivenAs }) => redrivenAs ?? []);
      for (const runId of redriven) ledger.accepted(runId);
      if (state === 'running' || !items.every(isOver)) return UNDER_WAY;
      return `${state}: ${counts.done} done, ${redriven.length} of ${items.length}`;
    }, 'succeeded: 2 done, 2 of 4'),
};
