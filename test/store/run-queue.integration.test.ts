import { afterAll, expect, it } from 'vitest';
import type { ConcurrencyRule } from '../../model/functions/function.ts';
import type { RunRecord } from '../../model/functions/run.ts';
import type { Store } from '../../store/connect.ts';
import { openStore } from '../support/open-store.ts';
import { useStore } from '../support/use-store.ts';
import { runRecord } from './run-records.ts';

let store: Store;
let other: Store;
let count = 0;
useStore(async (opened) => {
  ({ store } = opened);
  other = await openStore(opened.uri);
});
afterAll(() => other?.close());

const at = '2026-01-01T00:00:00.000Z';
const rule = (limit: number, key: string | null = null): ConcurrencyRule => ({ limit, key, onFull: 'queue' });

const rulesOf = (concurrency: ConcurrencyRule[]) => ({ concurrency, throttle: null });

/** Accepts runs of their own function, in this order. */
async function queued(name: string, changes: Partial<RunRecord>[]): Promise<RunRecord[]> {
  const runs = changes.map((each) => runRecord(++count, { function: name, ...each }));
  expect(await Promise.all(runs.map((run) => store.runs.accept(run, null)))).toEqual(runs.map(() => true));
  return runs;
}

/** Returns the order in which runs of all keys are admitted. */
async function turns(name: string, concurrency: ConcurrencyRule[]): Promise<string[]> {
  const found: string[] = [];
  for (let after = ''; ; ) {
    const next = await store.runQueue.next({ project: 'default', name }, after);
    if (!next && after === '') return found;
    after = next?.key ?? '';
    if (!next) continue;
    found.push(next.run.id);
    expect(await store.runQueue.admit(next.run, rulesOf(concurrency), at)).toBeNull();
  }
}

it('takes keys in turns, in order within a key (case 23)', async () => {
  const many = Array.from({ length: 40 }, () => ({ keys: ['"a"'] }));
  const all = await queued('turns', [...many, { keys: ['"b"'] }, { keys: ['"c"'] }, { keys: ['"b"'] }]);
  const order = await turns('turns', [rule(100)]);
  expect(order).toHaveLength(43);
  const places = (key: string) => all.flatMap((run) => (run.keys[0] === key ? [order.indexOf(run.id)] : []));
  expect(Math.max(...places('"c"'), places('"b"')[0] ?? 99)).toBeLessThan(3); // among the next (number of keys)
  for (const key of ['"a"', '"b"']) expect(places(key)).toEqual(places(key).toSorted((a, b) => a - b));
});

it('a priority overtakes runs accepted up to that many minutes earlier, within a key', async () => {
  const minute = (n: number) => `2026-01-01T00:${String(n).padStart(2, '0')}:00.000Z`;
  const [old, urgent, lately] = await queued('priority', [
    { acceptedAt: minute(1), priority: 0 },
    { acceptedAt: minute(9), priority: 5 },
    { acceptedAt: minute(5), priority: 0 },
  ]);
  expect(await turns('priority', [rule(100)])).toEqual([old?.id, urgent?.id, lately?.id]);
});

it('never exceeds the limit of a rule, for any concurrent admissions (case 22)', async () => {
  const runs = await queued(
    'full',
    Array.from({ length: 20 }, (_, n) => ({ keys: [null, n % 2 === 0 ? '"even"' : '"odd"'] })),
  );
  const rules = [rule(5), rule(3, '/parity')];
  const stores = [store, other];
  await Promise.all(stores.flatMap((each) => runs.map((run) => each.runQueue.admit(run, rulesOf(rules), at))));
  const admitted = await store.runs.admitted({ project: 'default', function: 'full' });
  expect(admitted).toHaveLength(5);
  const even = admitted.filter(({ keys }) => keys[1] === '"even"').length;
  expect(Math.max(even, 5 - even)).toBeLessThanOrEqual(3);

  const [first] = admitted;
  if (!first) throw new Error('none was admitted');
  await store.runs.begin(first.id, ['preparing'], {});
  await store.runs.end(first.id, ['preparing'], { outcome: 'succeeded', endedAt: at }, 7);
  expect(await waitingOf('full', rules)).toBe(15); // its cleanup is not proved: the slot is still taken
  await store.runs.free(first.id, { cleanup: 'proved' });
  expect(await waitingOf('full', rules)).toBe(14);
});

/** Returns the number left after all possible admissions. */
async function waitingOf(name: string, rules: ConcurrencyRule[]): Promise<number> {
  const ref = { project: 'default', name };
  for (let after = ''; ; ) {
    const next = await store.runQueue.next(ref, after);
    if (!next) return store.runQueue.count(ref, 100);
    await store.runQueue.admit(next.run, rulesOf(rules), at);
    after = next.key;
  }
}

it('returns the action of a full rule', async () => {
  const [first, second] = await queued('skip', [{}, {}]);
  if (!first || !second) throw new Error('there are none');
  const rules = rulesOf([{ limit: 1, key: null, onFull: 'skip' }]);
  expect(await store.runQueue.admit(first, rules, at)).toBeNull();
  expect(await store.runQueue.admit(second, rules, at)).toEqual({ why: 'concurrency', onFull: 'skip', isOfAll: true });
  expect((await store.runs.get(second.id))?.state).toBe('queued');
});

it('stores one of many equal events, and its end is written once', async () => {
  const run = runRecord(++count, { function: 'same' });
  const accepted = await Promise.all(Array.from({ length: 50 }, () => store.runs.accept(run, Buffer.from('{}'))));
  expect(accepted.filter(Boolean)).toHaveLength(1);
  const ends = (['cancelled', 'expired'] as const).map((outcome) =>
    store.runs.end(run.id, ['queued'], { outcome, endedAt: at }, 7),
  );
  expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1);
  expect(await store.runQueue.next({ project: 'default', name: 'same' }, '')).toBeNull();
});

it('requeues a run without room in its position, and frees its slot', async () => {
  const [first, second] = await queued('room', [{}, {}]);
  if (!first || !second) throw new Error('there are none');
  await store.runQueue.admit(first, rulesOf([rule(1)]), at);
  await store.runs.begin(first.id, ['preparing'], { tries: 1 });
  const begun = await store.runs.get(first.id);
  if (!begun) throw new Error('it is gone');
  expect(await store.runs.requeue(begun, { cleanup: 'none', waitingFor: 'capacity' })).toBe(true);
  expect(await store.runs.requeue(begun, { cleanup: 'none' })).toBe(false); // by a late caller
  expect((await store.runQueue.next({ project: 'default', name: 'room' }, ''))?.run.id).toBe(first.id);
  expect(await store.runQueue.admit(second, rulesOf([rule(1)]), at)).toBeNull();
});

it('lists due and expired runs, of all functions', async () => {
  const [delayed, fresh, late] = await queued('due', [
    { state: 'delayed', dueAt: '2026-01-01T00:00:05.000Z' },
    {},
    { expiresAt: '2026-01-01T00:00:03.000Z' },
  ]);
  if (!delayed || !fresh || !late) throw new Error('there are none');
  const own = async (now: string) =>
    (await store.runQueue.due(now, 100)).flatMap((run) => (run.function === 'due' ? [run.id] : []));
  expect(await own('2026-01-01T00:00:04.000Z')).toEqual([late.id]);
  expect(await own('2026-01-01T00:00:06.000Z')).toEqual([late.id, delayed.id]);
  await store.runQueue.enqueue(delayed);
  expect(await own('2026-01-01T00:00:06.000Z')).toEqual([late.id]);
  expect(await store.runQueue.functions()).toContainEqual({ project: 'default', name: 'due' });
  expect(await store.runQueue.count({ project: 'default', name: 'due' }, 10)).toBe(3);
});
