import { expect, it } from 'vitest';
import { MayflyError } from '../../../model/errors.ts';
import type { RunRecord } from '../../../model/functions/run.ts';
import { RunWatch } from '../../../services/runs/run-watch.ts';
import { eventually } from '../../support/eventually.ts';

type End = Pick<RunRecord, 'state' | 'cleanup'>;

/** Fake store of runs; counts its queries. */
class Ends {
  readonly runs = new Map<string, End>();
  readonly asked: number[] = [];
  problem: MayflyError | null = null;

  async ends(ids: readonly string[]): Promise<Map<string, End>> {
    this.asked.push(ids.length);
    if (this.problem) throw this.problem;
    return new Map([...this.runs].filter(([id]) => ids.includes(id)));
  }
}

const never = new AbortController().signal;
const idOf = (n: number) => `run-${n}`;
const RUNNING: End = { state: 'running', cleanup: 'pending' };

it('resolves each waiter on its condition (ended, clean), and stops polling afterwards', async () => {
  const store = new Ends();
  store.runs.set('run-1', RUNNING);
  const watch = new RunWatch(store);
  const told: string[] = [];
  const ended = watch.until('run-1', 'ended', never).then(() => told.push('ended'));
  const clean = watch.until('run-1', 'clean', never).then(() => told.push('clean'));
  store.runs.set('run-1', { state: 'ended', cleanup: 'pending' });
  await ended;
  expect(told).toEqual(['ended']);
  store.runs.set('run-1', { state: 'ended', cleanup: 'proved' });
  await clean;
  const asked = store.asked.length;
  await watch.until('run-1', 'clean', never);
  expect(store.asked.length).toBeLessThanOrEqual(asked + 2);
});

it('polls 2,500 runs of 5,000 waiters in three queries per poll', async () => {
  const store = new Ends();
  const watch = new RunWatch(store);
  for (let n = 0; n < 2_500; n++) store.runs.set(idOf(n), RUNNING);
  const waiting = Promise.all(
    Array.from({ length: 5_000 }, (_, n) => watch.until(idOf(n % 2_500), 'ended', new AbortController().signal)),
  );
  for (let n = 0; n < 2_500; n++) store.runs.set(idOf(n), { state: 'ended', cleanup: 'proved' });
  await waiting;
  expect(store.asked.slice(-3)).toEqual([1_000, 1_000, 500]);
});

it('rejects a waiter that leaves, and ends waits for a removed run; later waits work as before', async () => {
  const store = new Ends();
  store.runs.set('run-1', RUNNING);
  const watch = new RunWatch(store);
  const leaving = new AbortController();
  const left = watch.until('run-1', 'ended', leaving.signal);
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await watch.until('run-2', 'ended', never);
  const later = watch.until('run-1', 'ended', never);
  store.runs.set('run-1', { state: 'ended', cleanup: 'proved' });
  await later;
});

it('keeps waiting while the store is unavailable; any other error rejects all waiters', async () => {
  const store = new Ends();
  store.runs.set('run-1', RUNNING);
  const watch = new RunWatch(store);
  store.problem = new MayflyError('store_unavailable', 'away');
  const waiting = watch.until('run-1', 'ended', never);
  await eventually(
    async () => store.asked.length,
    (asked) => asked > 2,
  );
  store.runs.set('run-1', { state: 'ended', cleanup: 'proved' });
  store.problem = null;
  await waiting;
  store.problem = new MayflyError('internal', 'broken');
  await expect(watch.until('run-1', 'ended', never)).rejects.toThrow('broken');
});
