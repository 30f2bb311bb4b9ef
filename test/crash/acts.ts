import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError } from '../../client/http/api-error.ts';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { SimulatedSources } from '../../host/simulated/source/running-source.ts';
import type { TriedSaga } from './cells.ts';
import { insisting } from './insisting.ts';
import type { CrashInstallation } from './installation.ts';

/** What became of what was asked for: `done`, or the code that says why not. */
export type Outcome = string;

/** One saga as its user sees it: what must be there first, the request, and what its answer must be. */
interface Act {
  /** @returns ids that the request is about */
  prepare(stage: Stage): Promise<string[]>;
  run(stage: Stage, ids: string[], key: string): Promise<Outcome>;
}

/** What is waited for at most, by the API; what takes longer is asked for again. */
const WAIT = { waitSeconds: 60 };
/** Longer than any of its steps with all of their retries. Milliseconds. */
const PATIENCE_MS = 240_000;
const PAUSE_MS = 100;
const UNDER_WAY = /^(?:requested|creating|destroying|deleting|restoring|baking|preparing)$/;
const ONCE = 'echo once >> ~/effects';

/** Repeats a request until it is answered. @param key of it, so that it has one effect */
function ask<T>(
  send: (options: { idempotencyKey: string } & typeof WAIT) => Promise<T>,
  key: string = randomUUID(),
): Promise<T> {
  return insisting(() => send({ ...WAIT, idempotencyKey: key }), PATIENCE_MS);
}

/** An installation, and what sagas are tried with on it. */
export class Stage {
  /** What sandboxes are made of: a source, or, where booting takes long, a snapshot with memory. */
  constructor(
    readonly mayfly: CrashInstallation,
    readonly made: { source: string } | { snapshotId: string },
  ) {}

  get client(): MayflyClient {
    return this.mayfly.client;
  }

  async sandbox(): Promise<string> {
    const { id } = await ask((options) => this.client.createSandbox(wish(this), options));
    return id;
  }

  async snapshot(sandboxId: string): Promise<string> {
    const { id } = await ask((options) => this.client.snapshots.take(sandboxId, {}, options));
    return id;
  }

  /** A running source of a simulated host. */
  async runningSource(): Promise<string> {
    const name = `server-${randomBytes(4).toString('hex')}`;
    const sources = new SimulatedSources(join(this.mayfly.hostDir(), 'images'));
    await sources.make(name);
    await sources.start(name);
    await insisting(async () => {
      const { items } = await this.client.listSources();
      if (!items.some((source) => source.name === name)) throw new MayflyApiError(NOT_LISTED);
    }, PATIENCE_MS);
    return name;
  }
}

const TTL = { ttlSeconds: 3_600 };
/** What has memory of its own cannot be given another size. */
const SMALL = { ...TTL, memoryMib: 64 };

function wish({ made }: Stage) {
  return 'source' in made ? { ...made, ...SMALL } : { ...made, ...TTL };
}

const NOT_LISTED = {
  type: '',
  title: 'not listed yet',
  status: 503,
  code: 'host_unavailable',
  retryable: true,
} as const;

const inSandbox = async (stage: Stage) => [await stage.sandbox()];
const withSnapshot = async (stage: Stage) => {
  const id = await stage.sandbox();
  return [id, await stage.snapshot(id)];
};

/** By saga. Each request carries the key it is given, however often it is sent. */
export const ACTS: Record<TriedSaga, Act> = {
  create: {
    prepare: async () => [],
    run: (stage, _ids, key) =>
      outcomeOf(async () => (await ask((o) => stage.client.createSandbox(wish(stage), o), key)).state, 'running'),
  },
  fork: {
    prepare: withSnapshot,
    run: ({ client }, [, snapshotId = ''], key) =>
      outcomeOf(async () => {
        const [fork] = await ask((o) => client.snapshots.fork({ snapshotId, ...TTL, count: 1 }, o), key);
        return JSON.stringify(fork).includes('"running"') ? 'running' : JSON.stringify(fork).slice(0, 200);
      }, 'running'),
  },
  destroy: {
    prepare: inSandbox,
    run: ({ client }, [id = '']) =>
      outcomeOf(async () => (await ask(() => client.destroySandbox(id, WAIT))).state, 'destroyed'),
  },
  snapshot: {
    prepare: inSandbox,
    run: ({ client }, [id = ''], key) =>
      outcomeOf(async () => (await ask((o) => client.snapshots.take(id, {}, o), key)).state, 'ready'),
  },
  'delete snapshot': {
    prepare: withSnapshot,
    run: ({ client }, [, id = '']) =>
      outcomeOf(async () => (await ask(() => client.snapshots.delete(id, WAIT))).state, 'deleted'),
  },
  restore: {
    prepare: withSnapshot,
    run: ({ client }, [id = '', snapshotId = ''], key) =>
      outcomeOf(async () => {
        await ask((o) => client.snapshots.restore(id, { snapshotId }, o), key);
        return (await ask(() => client.getSandbox(id))).state;
      }, 'running'),
  },
  pause: {
    prepare: inSandbox,
    run: ({ client }, [id = ''], key) =>
      outcomeOf(async () => (await ask((o) => client.pauseSandbox(id, o), key)).state, 'paused'),
  },
  resume: {
    prepare: async (stage) => {
      const id = await stage.sandbox();
      await ask((o) => stage.client.pauseSandbox(id, o));
      return [id];
    },
    run: ({ client }, [id = ''], key) =>
      outcomeOf(async () => (await ask((o) => client.resumeSandbox(id, o), key)).state, 'running'),
  },
  hibernate: {
    prepare: inSandbox,
    run: ({ client }, [id = ''], key) =>
      outcomeOf(async () => (await ask((o) => client.hibernateSandbox(id, o), key)).state, 'hibernated'),
  },
  wake: {
    prepare: async (stage) => {
      const id = await stage.sandbox();
      await ask((o) => stage.client.hibernateSandbox(id, o));
      return [id];
    },
    run: ({ client }, [id = ''], key) =>
      outcomeOf(async () => (await ask((o) => client.resumeSandbox(id, o), key)).state, 'running'),
  },
  capture: {
    prepare: async (stage) => [await stage.runningSource()],
    run: ({ client }, [name = ''], key) =>
      outcomeOf(async () => (await ask((o) => client.captures.take(name, {}, o), key)).state, 'ready'),
  },
  bake: {
    prepare: withSnapshot,
    run: ({ client }, [, fromSnapshot = ''], key) =>
      outcomeOf(
        async () =>
          (await ask((o) => client.sources.bake({ name: bakedName(fromSnapshot), fromSnapshot }, o), key)).state,
        'ready',
      ),
  },
  'delete source': {
    prepare: async (stage) => {
      const [id = '', fromSnapshot = ''] = await withSnapshot(stage);
      const name = bakedName(fromSnapshot);
      await ask((o) => stage.client.sources.bake({ name, fromSnapshot }, o));
      return [id, name];
    },
    run: ({ client }, [, name = '']) =>
      outcomeOf(async () => (await ask(() => client.sources.delete(name, {}, WAIT))).state, 'deleted'),
  },
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
        if ((await stage.client.commands.get(id, commandId)).state !== 'running') throw new MayflyApiError(NOT_LISTED);
      }, PATIENCE_MS);
      return [id, commandId];
    },
    run: ({ client }, [id = '', commandId = ''], key) =>
      outcomeOf(async () => {
        await ask(() => client.commands.cancel(id, commandId), key);
        return (await ask(() => client.commands.get(id, commandId))).outcome ?? 'requested';
      }, 'cancelled'),
  },
};

function bakedName(snapshotId: string): string {
  return `baked-${snapshotId.slice(-8)}`;
}

/** `done` when the answer is the wanted one; else it, or the code of the refusal. What is still under way is asked for again. */
async function outcomeOf(run: () => Promise<string>, wanted: string): Promise<Outcome> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
    try {
      const state = await run();
      if (UNDER_WAY.test(state) && Date.now() < deadline) continue;
      return state === wanted ? 'done' : state;
    } catch (error) {
      if (error instanceof MayflyApiError) return error.code;
      throw error;
    }
  }
}
