import { describe, expect, it } from 'vitest';
import type { ConcurrencyRule } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';
import { useDispatcher } from './dispatch-cases.ts';

const { store, db, started, cancelled, createActivities, admit, deploy, queue, getState, getStates } = useDispatcher();

async function over({ id }: RunRecord): Promise<void> {
  const endedAt = new Date().toISOString();
  await store().runs.end(id, ['preparing'], { outcome: 'cancelled', endedAt }, 7);
  await store().runs.free(id, { cleanup: 'proved' });
}

const newest = (limit: number, key: string | null = null): ConcurrencyRule => ({
  limit,
  key,
  onFull: 'cancel-running',
});

it('a key that frees its slot during a pass is admitted next, before another key is admitted twice', async () => {
  const name = await deploy({ concurrency: [{ limit: 3, key: '/k', onFull: 'queue' }] });
  const of = (key: string) => queue(name, { keys: [key], lane: key });
  const full = [await of('"b"'), await of('"b"'), await of('"b"')];
  await admit(name);
  const [waits, ...others] = [await of('"b"'), await of('"a"'), await of('"a"'), await of('"a"')];
  const order: string[] = [];
  const admitNoted: Store['runQueue']['admit'] = async (run, ...rules) => {
    const held = await store().runQueue.admit(run, ...rules);
    if (held === null) order.push(run.lane ?? '');
    else if (run.id === waits.id) await over(full.pop() ?? waits);
    return held;
  };
  const next: Store['runQueue']['next'] = (...asked) => store().runQueue.next(...asked);
  const watched = { ...store(), runQueue: { next, admit: admitNoted } as Store['runQueue'] };
  const activities = createActivities(watched);
  await activities.admitRuns({ project: 'default', name, after: '' });
  expect(await getStates([waits, ...others])).toEqual(Array.from({ length: 4 }, () => 'preparing'));
  expect(order.indexOf('"b"')).toBeLessThanOrEqual(2);
});

describe('the newest run of a key wins (case 24)', () => {
  it('of three queued runs the two older ones end as superseded', async () => {
    const name = await deploy({ concurrency: [newest(1)] });
    const runs = [await queue(name), await queue(name), await queue(name)];
    await admit(name);
    expect(await getStates(runs)).toEqual(['superseded', 'superseded', 'preparing']);
    expect(await store().runs.get(runs[1]?.id ?? '')).toMatchObject({ outcome: 'skipped', supersededBy: runs[2]?.id });
  });

  it('a running one is cancelled, once; the newer starts when its cleanup is complete', async () => {
    const name = await deploy({ concurrency: [newest(1)] });
    const first = await queue(name);
    await admit(name);
    const second = await queue(name);
    await admit(name);
    await admit(name);
    expect(cancelled.filter((id) => id === first.id)).toHaveLength(1);
    expect(await store().runs.get(first.id)).toMatchObject({ cancelledBy: {}, supersededBy: second.id });
    const endedAt = new Date().toISOString();
    await store().runs.end(first.id, ['preparing'], { outcome: 'cancelled', endedAt }, 7);
    await admit(name);
    expect(await store().runs.get(second.id)).toMatchObject({ state: 'queued', waitingFor: 'concurrency' });
    await store().runs.free(first.id, { cleanup: 'proved' });
    await admit(name);
    expect(await getStates([first, second])).toEqual(['cancelled', 'preparing']);
  });

  it('runs of other keys, and as many as the rule allows, are left alone', async () => {
    const name = await deploy({ concurrency: [newest(2, '/k')] });
    const of = (key: string) => queue(name, { keys: [key], lane: key });
    const [a1, b1] = [await of('"a"'), await of('"b"')];
    await admit(name);
    const [a2, a3] = [await of('"a"'), await of('"a"')];
    await admit(name);
    expect(cancelled).toContain(a1.id);
    expect(cancelled).not.toContain(b1.id);
    expect(await getStates([b1, a2, a3])).toEqual(['preparing', 'preparing', 'queued']);
    await over(a1);
    await admit(name);
    expect(await getStates([a2, a3])).toEqual(['preparing', 'preparing']);
  });
});

describe('a throttle', () => {
  const throttle = { limit: 1, periodSeconds: 3_600, burst: 2, key: null, onFull: 'queue' } as const;

  it('starts up to its limit and delays the rest until a known time, also with concurrent passes', async () => {
    const name = await deploy({ throttle });
    const runs = await Promise.all(Array.from({ length: 4 }, () => queue(name)));
    const looks = await Promise.all([admit(name), admit(name), admit(name)]);
    const states = await getStates(runs);
    expect(states.filter((state) => state === 'preparing')).toHaveLength(2);
    expect(Math.max(...looks.map(({ waitMs }) => waitMs ?? 0))).toBeGreaterThan(3_000_000);
    expect((await admit(name)).isMore).toBe(false);
    const waiting = runs.find((_, n) => states[n] === 'queued');
    expect(await store().runs.get(waiting?.id ?? '')).toMatchObject({ waitingFor: 'throttle' });
    const begun = runs.filter((_, n) => states[n] === 'preparing');
    await Promise.all(begun.map(over)); // ended runs do not refill the throttle
    await admit(name);
    expect((await getStates(runs)).filter((state) => state === 'preparing')).toEqual([]);
  });

  it('applies per key, and skips runs with onFull: skip', async () => {
    const name = await deploy({ throttle: { ...throttle, burst: 1, key: '/k', onFull: 'skip' } });
    const of = (key: string) => queue(name, { throttleKey: key, lane: key });
    const runs = [await of('"a"'), await of('"b"'), await of('"a"')];
    await admit(name);
    expect(await getStates(runs)).toEqual(['preparing', 'preparing', 'rate']);
  });
});

describe('the version of a run (case 27)', () => {
  it('is the one it was accepted for', async () => {
    const name = await deploy({ command: 'one' }, { command: 'two' });
    const run = await queue(name);
    await admit(name);
    expect(await store().runs.get(run.id)).toMatchObject({ state: 'preparing', version: 1, versionDigest: 'd1' });
  });

  it('is the active one at admission with late binding, also when its own is deleted; it then stays fixed', async () => {
    const name = await deploy({ lateBinding: true }, { command: 'two' });
    const [run, second] = [await queue(name, { lateBinding: true }), await queue(name, { lateBinding: true })];
    await admit(name);
    expect(await store().runs.get(run.id)).toMatchObject({ state: 'preparing', version: 2, versionDigest: 'd2' });
    expect(started).toContain(run.id);
    await store().functions.change({ project: 'default', name }, { activeVersion: 1 });
    expect(await store().runs.get(second.id)).toMatchObject({ version: 2 });
    await store().functionVersions.remove({ project: 'default', name }, 1);
    await store().functions.change({ project: 'default', name }, { activeVersion: 2 });
    const third = await queue(name, { lateBinding: true });
    await admit(name);
    expect(await store().runs.get(third.id)).toMatchObject({ state: 'preparing', version: 2 });
  });
});

it('a run that cannot be admitted fails after five attempts, without blocking others', async () => {
  const name = await deploy({});
  const [bad, behind] = [await queue(name), await queue(name)];
  const runs = db().collection<{ _id: string }>('runs');
  const good = await runs.findOne({ _id: behind.id });
  await runs.updateOne({ _id: bad.id }, { $set: { keys: (good as unknown as RunRecord).keys } }); // encrypted for another run
  const beside = await queue(name, { lane: '"other"' });
  const { waitMs } = await admit(name);
  expect(waitMs).toBeLessThan(1_000);
  expect(await getState(beside)).toBe('preparing');
  for (let times = 2; times <= 4; times++) await admit(name);
  expect((await runs.findOne({ _id: bad.id })) as unknown).toMatchObject({ state: 'queued', failedAdmissions: 4 });
  expect(await getState(behind)).toBe('queued');
  await admit(name);
  expect((await runs.findOne({ _id: bad.id })) as unknown).toMatchObject({ state: 'ended', outcome: 'not-started' });
  expect(await getState(behind)).toBe('preparing');
});
