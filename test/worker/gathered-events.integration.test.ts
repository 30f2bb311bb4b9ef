import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadEvent } from '../../activities/function/stored-event.ts';
import type { Gathering, RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';
import { RunQueuePoller } from '../../worker/upkeep/functions/run-queues.ts';
import { GatheredEvents } from '../../worker/upkeep/gathering/gathered-events.ts';
import { runRecord } from '../store/run-records.ts';
import { useStore } from '../support/use-store.ts';

/** Guards: gathered events are each run once, for a kill at any point. */
let store: Store;
let queues: RunQueuePoller;
const woken: string[] = [];
useStore((opened) => {
  store = opened.store;
  const functions = {
    cancelRun: async () => {},
    lookAtWaits: async () => {},
    ensureDispatcher: async () => {},
    startRun: async () => 'begun' as const,
    startBulk: async () => {},
    wakeDispatcher: async ({ name }: { name: string }) => void woken.push(name),
  };
  const resume = async (_workflowId: string, start: () => Promise<unknown>) => void (await start());
  const asked = { functions, resume } as unknown as ConstructorParameters<typeof RunQueuePoller>[1];
  queues = new RunQueuePoller(store, asked, pino({ level: 'silent' }));
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
let [count, names] = [0, 0];
const named = () => `fn-${++names}`;

/** Accepts a run. @param seconds its age */
async function gathers(name: string, gathering: Gathering, seconds: number, changes: Partial<RunRecord> = {}) {
  const n = ++count;
  const waits = { function: name, state: 'delayed', waitingFor: gathering.kind, gathering } as const;
  const run = runRecord(n, { ...waits, acceptedAt: ago(seconds), ...changes });
  expect(await store.runs.accept(run, Buffer.from(`{"n":${n}}`))).toBe(true);
  return run;
}

const latest = async ({ id }: Pick<RunRecord, 'id'>) => {
  const run = await store.runs.get(id);
  if (!run) throw new Error(`${id} is gone`);
  return run;
};
const at = (time: string) => ({ event: { id: time, source: '/s', type: 't', time } });
const OLD = '2026-01-01T12:00:00+02:00';
const NEW = '2026-01-01T11:00:00Z';

/** Creates a gatherer that dies at the n-th of the writes that turn a group into runs. */
function dyingAt(n: number): GatheredEvents {
  let calls = 0;
  const dying = <T extends object>(part: T, writes: readonly string[]): T =>
    new Proxy(part, {
      get(target, key) {
        const value = Reflect.get(target, key) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (writes.includes(String(key)) && ++calls >= n) throw new Error('killed');
          return (value as (...all: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  return new GatheredEvents({
    runs: dying(store.runs, ['accept', 'end']),
    gatheredRuns: dying(store.gatheredRuns, ['claim', 'join', 'release']),
  });
}

describe('debounce (case 25)', () => {
  const rule: Gathering = { kind: 'debounce', periodMs: 10_000, maxWaitMs: 60_000 };

  it('runs the newest by its time, in any order of arrival, for all of them', async () => {
    const name = named();
    const newer = await gathers(name, rule, 15, at(NEW));
    const older = await gathers(name, rule, 12, at(OLD));
    const other = await gathers(name, rule, 12, { gatheringKey: '"other"' });
    await queues.look();
    const run = await latest(newer);
    expect(run).toMatchObject({ state: 'queued', waitingFor: null });
    expect(run.events.map(({ runId, time }) => [runId, time])).toEqual([
      [newer.id, NEW],
      [older.id, OLD],
    ]);
    expect(await latest(older)).toMatchObject({
      outcome: 'skipped',
      skippedFor: 'superseded',
      supersededBy: newer.id,
      cleanup: 'none',
    });
    expect((await latest(other)).events).toHaveLength(1);
    expect((await store.runQueue.next({ project: 'default', name }, ''))?.run.id).toBe(newer.id);
    expect(woken).toContain(name);
  });

  it('is extended by an event within the period, not by a duplicate, and only up to the maximum wait', async () => {
    const [name, long] = [named(), named()];
    const [first, second] = [await gathers(name, rule, 15), await gathers(name, rule, 8)];
    const endless = { ...rule, maxWaitMs: 14_000 } as const;
    const [begin, ...stream] = [
      await gathers(long, endless, 15),
      await gathers(long, endless, 8),
      await gathers(long, endless, 0),
    ];
    expect(await store.runs.accept(first, null)).toBe(false);
    await queues.look();
    expect([(await latest(first)).state, (await latest(second)).state]).toEqual(['delayed', 'delayed']);
    expect(await latest(begin)).toMatchObject({ outcome: 'skipped' });
    expect((await latest(stream[0] ?? begin)).events).toHaveLength(2);
    expect((await latest(stream[1] ?? begin)).state).toBe('delayed'); // beyond the maximum
  });

  it.each([1, 2, 3, 4])('covers each event once, after a kill at write %i', async (n) => {
    const name = named();
    const runs = [await gathers(name, rule, 15), await gathers(name, rule, 14, at(OLD)), await gathers(name, rule, 13)];
    const newest = runs[2] as RunRecord;
    await expect(dyingAt(n).look(await latest(runs[0] as RunRecord), ago(0))).rejects.toThrow('killed');
    const late = await gathers(name, rule, 0);
    await queues.look();
    await queues.look();
    const found = await Promise.all(runs.map(latest));
    expect(found.filter(({ state }) => state === 'queued').map(({ id }) => id)).toEqual([newest.id]);
    expect((await latest(newest)).events).toHaveLength(3);
    expect(found.filter(({ supersededBy }) => supersededBy === newest.id)).toHaveLength(2);
    expect(await latest(late)).toMatchObject({ state: 'delayed', waitingFor: 'debounce' });
  });
});

describe('a batch (case 26)', () => {
  const rule: Gathering = { kind: 'batch', maxSize: 3, maxWaitMs: 60_000 };
  const batchOf = async (run: RunRecord) => latest({ id: (await latest(run)).batch ?? '' });

  it('is formed once full, from the first events; others wait, up to the maximum age of the first', async () => {
    const name = named();
    const runs = [await gathers(name, rule, 5), await gathers(name, rule, 4), await gathers(name, rule, 3)];
    const fourth = await gathers(name, rule, 2);
    await store.gatheredRuns.wakeIfFull(fourth, 4);
    await queues.look();
    const batch = await batchOf(runs[0] ?? fourth);
    expect(batch).toMatchObject({ state: 'queued', isBatch: true, events: runs.map(({ id }) => ({ runId: id })) });
    expect(JSON.parse(Buffer.from(await loadEvent(store, batch)).toString())).toHaveLength(3);
    expect((await loadEvent(store, batch)).length).toBe(batch.eventBytes + 3 * ('{"n":00}'.length - 2)); // records have 2 bytes each
    expect(await latest(fourth)).toMatchObject({ state: 'delayed', batch: null });
    const old = await gathers(named(), rule, 61);
    await queues.look();
    expect((await batchOf(old)).events).toHaveLength(1);
  });

  it('omits events cancelled before, and cannot lose its own', async () => {
    const name = named();
    const [first, second] = [await gathers(name, rule, 61), await gathers(name, rule, 60)];
    const cancel = (id: string) =>
      store.runs.end(id, ['delayed', 'queued'], { outcome: 'cancelled', endedAt: ago(0), updatedAt: ago(0) }, 7);
    expect(await cancel(first.id)).toBe(true);
    await gathers(name, rule, 62);
    await queues.look();
    expect((await batchOf(second)).events).toHaveLength(2);
    expect(await cancel(second.id)).toBe(false);
  });

  it.each([1, 2, 3, 4])('has each event once, after a kill at write %i, and with concurrent polls', async (n) => {
    const name = named();
    const runs = [await gathers(name, rule, 61), await gathers(name, rule, 60), await gathers(name, rule, 59)];
    const first = await latest(runs[0] as RunRecord);
    await expect(dyingAt(n).look(first, ago(0))).rejects.toThrow('killed');
    const others = [new GatheredEvents(store), new GatheredEvents(store)];
    await Promise.all([queues.look(), ...others.map((each) => each.look(first, ago(0)))]);
    await queues.look();
    const all = await store.runs.list({ project: 'default', function: name, limit: 100 });
    const batches = all.items.filter(({ isBatch, state }) => isBatch && state === 'queued');
    const had = batches.flatMap(({ id, events }) => events.map(({ runId }) => [runId, id]));
    const found = await Promise.all(runs.map(latest)); // the successor may have made two of it
    expect(had).toHaveLength(found.length);
    expect(Object.fromEntries(had)).toEqual(Object.fromEntries(found.map(({ id, batch }) => [id, batch])));
    expect(all.items.filter(({ isBatch, state }) => isBatch && state === 'delayed')).toEqual([]);
  });

  it('ends the runs of its events with its own end, each with its item of the result', async () => {
    const name = named();
    const runs = [await gathers(name, rule, 62), await gathers(name, rule, 61)];
    await queues.look();
    const batch = await batchOf(runs[0] as RunRecord);
    const result = Buffer.from('[{"a": 1.0},12345678901234567890]');
    await store.runContents.put(batch.id, 'result', result);
    const whole = { contentType: 'application/json', bytes: result.length, digest: 'd', partial: false };
    const ended = { outcome: 'succeeded', exitCode: 0, endedAt: ago(0), result: whole } as const;
    await store.runs.end(batch.id, ['queued'], ended, 7);
    await queues.look();
    for (const [n, text] of ['{"a": 1.0}', '12345678901234567890'].entries()) {
      const run = await latest(runs[n] as RunRecord);
      expect(run).toMatchObject({ state: 'ended', outcome: 'succeeded', exitCode: 0, result: { bytes: text.length } });
      expect(Buffer.from((await store.runContents.get(run.id, 'result')) ?? []).toString()).toBe(text);
    }
    expect(await store.gatheredRuns.untold(10)).toEqual([]);
  });
});
