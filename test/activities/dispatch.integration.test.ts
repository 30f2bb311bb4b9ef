import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDispatchActivities } from '../../activities/function/queue/dispatch.ts';
import type { ConcurrencyRule, FunctionSpec } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';
import { functionRecord, functionVersion, runRecord } from '../store/run-records.ts';
import { openStore } from '../support/open-store.ts';
import { type StoreServer, startStoreServer } from '../support/store-server.ts';
import { FULL } from '../support/sweep.ts';

/** What a dispatcher does to what is in the store; of Temporal it is only noted what it would be told. */
let server: StoreServer;
let store: Store;
let mongo: MongoClient;
const started: string[] = [];
const cancelled: string[] = [];
beforeAll(async () => {
  server = await startStoreServer();
  store = await openStore(server.uri, { auditKey: Buffer.alloc(32, 7) });
  mongo = await MongoClient.connect(server.uri);
});
afterAll(async () => {
  await mongo?.close();
  await store?.close();
  await server?.stop();
});

class Noted extends Reconciliation {
  constructor() {
    super(null as never);
  }
  override async startRun({ runId }: { runId: string }): Promise<'begun'> {
    started.push(runId);
    return 'begun';
  }
  override async cancelRun(runId: string): Promise<void> {
    cancelled.push(runId);
  }
}

const look = (name: string) =>
  createDispatchActivities({ store, reconciliation: new Noted() }).admitRuns({ project: 'default', name, after: '' });
let [names, count] = [0, 100];
const created = Date.now();

async function deployed(...specs: Partial<FunctionSpec>[]): Promise<string> {
  const name = `fn-${++names}`;
  await store.functions.create(functionRecord({ name, activeVersion: specs.length }));
  for (const [n, spec] of specs.entries()) {
    const version = { ...functionVersion(spec), function: name, version: n + 1, digest: `d${n + 1}` };
    await store.functionVersions.create(version);
  }
  return name;
}

/** One that was accepted a second after the one before it. */
async function queued(name: string, changes: Partial<RunRecord> = {}): Promise<RunRecord> {
  const acceptedAt = new Date(created + ++count * 1_000).toISOString();
  const run = runRecord(count, { function: name, versionDigest: 'd1', acceptedAt, ...changes });
  expect(await store.runs.accept(run, Buffer.from('{}'))).toBe(true);
  return run;
}

const stateOf = async ({ id }: RunRecord) => {
  const run = await store.runs.get(id);
  return run && (run.skippedFor ?? run.outcome ?? run.state);
};
const statesOf = (runs: readonly RunRecord[]) => Promise.all(runs.map(stateOf));

async function over({ id }: RunRecord): Promise<void> {
  const endedAt = new Date().toISOString();
  await store.runs.end(id, ['preparing'], { outcome: 'cancelled', endedAt }, 7);
  await store.runs.free(id, { cleanup: 'proved' });
}

const newest = (limit: number, key: string | null = null): ConcurrencyRule => ({
  limit,
  key,
  onFull: 'cancel-running',
});

/** Promise: no key is passed over while another has two of its runs admitted, also within one look. 1 s. */
it('a key whose slot is given back during a look is next, before another comes twice', async () => {
  const name = await deployed({ concurrency: [{ limit: 3, key: '/k', onFull: 'queue' }] });
  const of = (key: string) => queued(name, { keys: [key], lane: key });
  const full = [await of('"b"'), await of('"b"'), await of('"b"')];
  await look(name);
  const [waits, ...others] = [await of('"b"'), await of('"a"'), await of('"a"'), await of('"a"')];
  const order: string[] = [];
  const admit: Store['runQueue']['admit'] = async (run, ...rules) => {
    const held = await store.runQueue.admit(run, ...rules);
    if (held === null) order.push(run.lane ?? '');
    else if (run.id === waits.id) await over(full.pop() ?? waits);
    return held;
  };
  const next: Store['runQueue']['next'] = (...asked) => store.runQueue.next(...asked);
  const watched = { ...store, runQueue: { next, admit } as Store['runQueue'] };
  const activities = createDispatchActivities({ store: watched, reconciliation: new Noted() });
  await activities.admitRuns({ project: 'default', name, after: '' });
  expect(await statesOf([waits, ...others])).toEqual(Array.from({ length: 4 }, () => 'preparing'));
  expect(order.indexOf('"b"')).toBeLessThanOrEqual(2);
});

/** Promise: a queue of which nothing can be admitted costs no look after another, however many keys it has. 7 s. */
it('more keys that wait than one look sees are seen by the next, after a pause', FULL, async () => {
  const name = await deployed({ concurrency: [{ limit: 1, key: '/k', onFull: 'queue' }] });
  const keys = Array.from({ length: 205 }, (_, n) => JSON.stringify(`k${n}`));
  const runs = await Promise.all(keys.map((lane) => queued(name, { keys: [lane], lane })));
  const activities = createDispatchActivities({ store, reconciliation: new Noted() });
  const lookAfter = (after: string) => activities.admitRuns({ project: 'default', name, after });
  for (let found = await lookAfter(''); found.isMore; ) found = await lookAfter(found.after);
  expect(new Set(await statesOf(runs))).toEqual(new Set(['preparing']));
  await Promise.all(keys.map((lane) => queued(name, { keys: [lane], lane })));
  const first = await lookAfter('');
  const next = await lookAfter(first.after); // it comes to the end of the keys, and begins again
  for (const each of [first, next]) {
    expect(each).toMatchObject({ isEmpty: false, isMore: false, waitMs: expect.any(Number) });
  }
  expect((await store.runQueue.next({ project: 'default', name }, first.after))?.key).toBeDefined();
});

describe('of those with the same key the newest goes on (case 24)', () => {
  it('and of three that wait the others end as superseded by it', async () => {
    const name = await deployed({ concurrency: [newest(1)] });
    const runs = [await queued(name), await queued(name), await queued(name)];
    await look(name);
    expect(await statesOf(runs)).toEqual(['superseded', 'superseded', 'preparing']);
    expect(await store.runs.get(runs[1]?.id ?? '')).toMatchObject({ outcome: 'skipped', supersededBy: runs[2]?.id });
  });

  it('and one that is under way is cancelled, once; the newer begins when nothing of it is left', async () => {
    const name = await deployed({ concurrency: [newest(1)] });
    const first = await queued(name);
    await look(name);
    const second = await queued(name);
    await look(name);
    await look(name);
    expect(cancelled.filter((id) => id === first.id)).toHaveLength(1);
    expect(await store.runs.get(first.id)).toMatchObject({ cancelledBy: {}, supersededBy: second.id });
    const endedAt = new Date().toISOString();
    await store.runs.end(first.id, ['preparing'], { outcome: 'cancelled', endedAt }, 7);
    await look(name);
    expect(await store.runs.get(second.id)).toMatchObject({ state: 'queued', waitingFor: 'concurrency' });
    await store.runs.free(first.id, { cleanup: 'proved' });
    await look(name);
    expect(await statesOf([first, second])).toEqual(['cancelled', 'preparing']);
  });

  it('and others of other keys, and as many as the rule lets, are left alone', async () => {
    const name = await deployed({ concurrency: [newest(2, '/k')] });
    const of = (key: string) => queued(name, { keys: [key], lane: key });
    const [a1, b1] = [await of('"a"'), await of('"b"')];
    await look(name);
    const [a2, a3] = [await of('"a"'), await of('"a"')];
    await look(name);
    expect(cancelled).toContain(a1.id);
    expect(cancelled).not.toContain(b1.id);
    expect(await statesOf([b1, a2, a3])).toEqual(['preparing', 'preparing', 'queued']);
    await over(a1);
    await look(name);
    expect(await statesOf([a2, a3])).toEqual(['preparing', 'preparing']);
  });
});

describe('a throttle', () => {
  const throttle = { limit: 1, periodSeconds: 3_600, burst: 2, key: null, onFull: 'queue' } as const;

  it('lets so many begin at once, has the others wait, and says until when; whoever looks', async () => {
    const name = await deployed({ throttle });
    const runs = await Promise.all(Array.from({ length: 4 }, () => queued(name)));
    const looks = await Promise.all([look(name), look(name), look(name)]);
    const states = await statesOf(runs);
    expect(states.filter((state) => state === 'preparing')).toHaveLength(2);
    expect(Math.max(...looks.map(({ waitMs }) => waitMs ?? 0))).toBeGreaterThan(3_000_000);
    expect((await look(name)).isMore).toBe(false);
    const waiting = runs.find((_, n) => states[n] === 'queued');
    expect(await store.runs.get(waiting?.id ?? '')).toMatchObject({ waitingFor: 'throttle' });
    const begun = runs.filter((_, n) => states[n] === 'preparing');
    await Promise.all(begun.map(over)); // that they have ended lets none begin
    await look(name);
    expect((await statesOf(runs)).filter((state) => state === 'preparing')).toEqual([]);
  });

  it('is of each key, and skips where that is asked for', async () => {
    const name = await deployed({ throttle: { ...throttle, burst: 1, key: '/k', onFull: 'skip' } });
    const of = (key: string) => queued(name, { throttleKey: key, lane: key });
    const runs = [await of('"a"'), await of('"b"'), await of('"a"')];
    await look(name);
    expect(await statesOf(runs)).toEqual(['preparing', 'preparing', 'rate']);
  });
});

describe('the version of a run (case 27)', () => {
  it('is the one that it was accepted for', async () => {
    const name = await deployed({ command: 'one' }, { command: 'two' });
    const run = await queued(name);
    await look(name);
    expect(await store.runs.get(run.id)).toMatchObject({ state: 'preparing', version: 1, versionDigest: 'd1' });
  });

  it('is the active one at its admission where that said so, also when its own is gone; and stays', async () => {
    const name = await deployed({ lateBinding: true }, { command: 'two' });
    const [run, second] = [await queued(name, { lateBinding: true }), await queued(name, { lateBinding: true })];
    await look(name);
    expect(await store.runs.get(run.id)).toMatchObject({ state: 'preparing', version: 2, versionDigest: 'd2' });
    expect(started).toContain(run.id);
    await store.functions.change({ project: 'default', name }, { activeVersion: 1 });
    expect(await store.runs.get(second.id)).toMatchObject({ version: 2 });
    await store.functionVersions.remove({ project: 'default', name }, 1);
    await store.functions.change({ project: 'default', name }, { activeVersion: 2 });
    const third = await queued(name, { lateBinding: true });
    await look(name);
    expect(await store.runs.get(third.id)).toMatchObject({ state: 'preparing', version: 2 });
  });
});

describe('one that cannot be admitted', () => {
  it('is given up when it has failed five times, and those behind it and beside it go on', async () => {
    const name = await deployed({});
    const [bad, behind] = [await queued(name), await queued(name)];
    const runs = mongo.db().collection<{ _id: string }>('runs');
    const good = await runs.findOne({ _id: behind.id });
    await runs.updateOne({ _id: bad.id }, { $set: { keys: (good as unknown as RunRecord).keys } }); // sealed for another
    const beside = await queued(name, { lane: '"other"' });
    const { waitMs } = await look(name);
    expect(waitMs).toBeLessThan(1_000);
    expect(await stateOf(beside)).toBe('preparing');
    for (let times = 2; times <= 4; times++) await look(name);
    expect((await runs.findOne({ _id: bad.id })) as unknown).toMatchObject({ state: 'queued', failedAdmissions: 4 });
    expect(await stateOf(behind)).toBe('queued');
    await look(name);
    expect((await runs.findOne({ _id: bad.id })) as unknown).toMatchObject({ state: 'ended', outcome: 'not-started' });
    expect(await stateOf(behind)).toBe('preparing');
  });
});
