import { text } from 'node:stream/consumers';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { APPROVED_CREATE } from './approving.ts';
import { ask, NOT_YET, outcomeOf, PATIENCE_MS, WAIT } from './asking.ts';
import { BUILD_AN_IMAGE } from './building.ts';
import type { TriedSaga } from './cells.ts';
import {
  CANCEL_A_RUN,
  CANCEL_A_START,
  KEEP_WHAT_FAILED,
  RETRY_A_RUN,
  RUN_A_FUNCTION,
  WAIT_AT_A_WAITPOINT,
} from './functions/running.ts';
import { SET_A_FUNCTION_UP, TAKE_A_SETUP_BACK } from './functions/setting-up.ts';
import { DELIVER_A_WEBHOOK, REDRIVE_IN_BULK, RUN_BY_A_SCHEDULE } from './functions/triggers.ts';
import { insisting } from './insisting.ts';
import { FORGET, RECONCILE } from './losses.ts';
import { WRITE_A_PLAYBOOK } from './playbook-writing.ts';
import { claimOf, createRunning, FILL_A_POOL } from './pooling.ts';
import { OPEN_A_PORT } from './port-opening.ts';
import { type Act, type Stage, TTL } from './stage.ts';

const ONCE = 'echo once >> ~/effects';

type Options = Parameters<Parameters<typeof ask>[0]>[0];

const inSandbox = async (stage: Stage) => [await stage.sandbox()];
const withSnapshot = async (stage: Stage) => {
  const id = await stage.sandbox();
  return [id, await stage.snapshot(id)];
};
const after =
  (act: (client: MayflyClient, id: string, options: Options) => Promise<unknown>) => async (stage: Stage) => {
    const id = await stage.sandbox();
    await ask((options) => act(stage.client, id, options));
    return [id];
  };

/** Creates an act of one request for prepared resources. @param wanted state of its answer */
const operation = (
  prepare: Act['prepare'],
  wanted: string,
  send: (client: MayflyClient, ids: string[], options: Options) => Promise<{ state: string }>,
): Act => ({
  prepare,
  run: ({ client }, ids, key) =>
    outcomeOf(async () => (await ask((options) => send(client, ids, options), key)).state, wanted),
});

/** Acts by saga. Each request carries its idempotency key, and may be repeated. */
export const ACTS: Record<TriedSaga, Act> = {
  create: { prepare: async () => [], run: createRunning },
  'approved create': APPROVED_CREATE,
  'open a port': OPEN_A_PORT,
  'build an image': BUILD_AN_IMAGE,
  'write a playbook': WRITE_A_PLAYBOOK,
  'run a function': RUN_A_FUNCTION,
  'cancel a run': CANCEL_A_RUN,
  'cancel a start': CANCEL_A_START,
  'retry a run': RETRY_A_RUN,
  'keep what failed': KEEP_WHAT_FAILED,
  'wait at a waitpoint': WAIT_AT_A_WAITPOINT,
  'set a function up': SET_A_FUNCTION_UP,
  'take a setup back': TAKE_A_SETUP_BACK,
  'run by a schedule': RUN_BY_A_SCHEDULE,
  'deliver a webhook': DELIVER_A_WEBHOOK,
  'redrive in bulk': REDRIVE_IN_BULK,
  claim: claimOf({ shared: false }),
  'claim a shared one': claimOf({ shared: true }),
  'fill a pool': FILL_A_POOL,
  fork: {
    prepare: withSnapshot,
    run: ({ client }, [, snapshotId = ''], key) =>
      outcomeOf(async () => {
        const [fork] = await ask((o) => client.snapshots.fork({ snapshotId, ...TTL, count: 1 }, o), key);
        return JSON.stringify(fork).includes('"running"') ? 'running' : JSON.stringify(fork).slice(0, 200);
      }, 'running'),
  },
  destroy: operation(inSandbox, 'destroyed', (client, [id = '']) => client.destroySandbox(id, WAIT)),
  snapshot: operation(inSandbox, 'ready', (client, [id = ''], o) => client.snapshots.take(id, {}, o)),
  'delete snapshot': operation(withSnapshot, 'deleted', (client, [, id = '']) => client.snapshots.delete(id, WAIT)),
  restore: {
    prepare: withSnapshot,
    run: ({ client }, [id = '', snapshotId = ''], key) =>
      outcomeOf(async () => {
        await ask((o) => client.snapshots.restore(id, { snapshotId }, o), key);
        return (await ask(() => client.getSandbox(id))).state;
      }, 'running'),
  },
  pause: operation(inSandbox, 'paused', (client, [id = ''], o) => client.pauseSandbox(id, o)),
  resume: operation(
    after((client, id, o) => client.pauseSandbox(id, o)),
    'running',
    (client, [id = ''], o) => client.resumeSandbox(id, o),
  ),
  hibernate: operation(inSandbox, 'hibernated', (client, [id = ''], o) => client.hibernateSandbox(id, o)),
  wake: operation(
    after((client, id, o) => client.hibernateSandbox(id, o)),
    'running',
    (client, [id = ''], o) => client.resumeSandbox(id, o),
  ),
  capture: operation(
    async (stage) => [await stage.runningSource()],
    'ready',
    (client, [name = ''], o) => client.captures.take(name, {}, o),
  ),
  bake: operation(withSnapshot, 'ready', (client, [, fromSnapshot = ''], o) => bake(client, fromSnapshot, o)),
  'delete source': operation(
    async (stage) => {
      const [id = '', fromSnapshot = ''] = await withSnapshot(stage);
      await ask((o) => bake(stage.client, fromSnapshot, o));
      return [id, bakedName(fromSnapshot)];
    },
    'deleted',
    (client, [, name = '']) => client.sources.delete(name, WAIT),
  ),
  command: {
    prepare: inSandbox,
    run: ({ client }, [id = ''], key) =>
      outcomeOf(async () => {
        const command = await ask((o) => client.commands.run(id, { command: `${ONCE}; sleep 0.2` }, o), key);
        if (command.outcome !== 'exited') return String(command.outcome);
        const look = await ask((o) => client.commands.run(id, { argv: ['cat', '/home/sandbox/effects'] }, o));
        const effects = await text(await ask(() => client.commands.output(id, look.id, 'stdout')));
        return effects === 'once\n' ? 'exited once' : `exited, with effects ${JSON.stringify(effects)}`;
      }, 'exited once'),
  },
  'cancel command': {
    prepare: async (stage) => {
      const id = await stage.sandbox();
      const { id: commandId } = await ask((o) =>
        stage.client.commands.run(id, { argv: ['sleep', '600'] }, { ...o, waitSeconds: 0 }),
      );
      await insisting(async () => {
        if ((await stage.client.commands.get(id, commandId)).state !== 'running') throw new MayflyApiError(NOT_YET);
      }, PATIENCE_MS);
      return [id, commandId];
    },
    run: ({ client }, [id = '', commandId = ''], key) =>
      outcomeOf(async () => {
        await ask(() => client.commands.cancel(id, commandId), key);
        return (await ask(() => client.commands.get(id, commandId))).outcome ?? 'requested';
      }, 'cancelled'),
  },
  reconcile: RECONCILE,
  forget: FORGET,
};

function bake(client: MayflyClient, fromSnapshot: string, options: Options) {
  return client.sources.bake({ name: bakedName(fromSnapshot), fromSnapshot }, options);
}

function bakedName(snapshotId: string): string {
  return `baked-${snapshotId.slice(-8)}`;
}
