import { pino } from 'pino';
import { expect, it } from 'vitest';
import { deriveRunId, type RunRecord } from '../../../model/functions/run.ts';
import type { RunInput } from '../../../model/functions/run-saga.ts';
import type { Store } from '../../../store/connect.ts';
import type { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { RunQueuePoller } from '../../../worker/upkeep/functions/run-queues.ts';
import { functionRecord, functionVersion, runId, runRecord } from '../../store/run-records.ts';
import { useStore } from '../../support/use-store.ts';

let store: Store;
let queues: RunQueuePoller;
const ensured: string[] = [];
const begun: string[] = [];
const cancelled: string[] = [];
const rules = { concurrency: [], throttle: null };
useStore((opened) => {
  store = opened.store;
  const functions: Partial<ControlTemporalClient['functions']> = {
    cancelRun: async (id) => void cancelled.push(id),
    lookAtWaits: async () => undefined,
    startBulk: async ({ bulkId }) => void begun.push(bulkId),
    ensureDispatcher: async ({ name }) => void ensured.push(name),
    startRun: async ({ runId: id }: RunInput) => {
      begun.push(id);
      return 'begun';
    },
    wakeDispatcher: async ({ name }) => void ensured.push(name),
  };
  const resume = async (_workflowId: string, start: () => Promise<unknown>) => void (await start());
  const asked = { functions, resume } as Pick<ControlTemporalClient, 'functions' | 'resume'>;
  queues = new RunQueuePoller(store, asked, pino({ level: 'silent' }));
});

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
const ended = { outcome: 'succeeded', endedAt: ago(0) } as const;

async function accept(n: number, changes: Partial<RunRecord>): Promise<RunRecord> {
  const run = runRecord(n, { acceptedAt: ago(60), ...changes });
  expect(await store.runs.accept(run, null)).toBe(true);
  return run;
}

it('finds due and expired runs, their queues, and admitted runs without a workflow', async () => {
  const due = await accept(1, { function: 'due', state: 'delayed', dueAt: ago(1) });
  const later = await accept(2, { function: 'later', state: 'delayed', dueAt: '2999-01-01T00:00:00.000Z' });
  const late = await accept(3, { function: 'late', expiresAt: ago(1) });
  const never = await accept(4, { function: 'never', state: 'delayed', dueAt: ago(30), expiresAt: ago(1) });
  const admitted = await accept(5, { function: 'admitted' });
  await store.runQueue.admit(admitted, rules, ago(10));
  const fresh = await accept(6, { function: 'admitted' });
  await store.runQueue.admit(fresh, rules, new Date().toISOString());
  await queues.look();
  const states = await Promise.all([due, later, late, never].map(async ({ id }) => await store.runs.get(id)));
  expect(states.map((run) => [run?.state, run?.outcome])).toEqual([
    ['queued', null],
    ['delayed', null],
    ['ended', 'expired'],
    ['ended', 'expired'],
  ]);
  expect(ensured).toEqual(['due']);
  expect(begun).toEqual([admitted.id]);
  await queues.look();
  expect(ensured).toEqual(['due']); // most have one: it is ensured now and then
});

it('notifies of a cancel whose sender died, once, and of no cancel that was sent', async () => {
  const [lost, told] = [await accept(11, { function: 'lost' }), await accept(12, { function: 'lost' })];
  for (const run of [lost, told]) {
    await store.runQueue.admit(run, rules, ago(20));
    expect(await store.runs.wishCancel(run.id, { cancelledBy: run.createdBy, updatedAt: ago(10) })).toBe(true);
  }
  await store.runs.cancelTold(told.id);
  await queues.look();
  await queues.look();
  expect(cancelled).toEqual([lost.id]);
});

it('removes a draining function when its last run is clean, and not before', async () => {
  const draining = functionRecord({ name: 'draining', state: 'draining' });
  await store.functions.create(draining);
  await store.functionVersions.create({ ...functionVersion(), function: 'draining' });
  const run = await accept(7, { function: 'draining' });
  await queues.look();
  await store.runQueue.admit(run, rules, ago(0));
  await store.runs.begin(run.id, ['preparing'], {});
  await store.runs.end(run.id, ['preparing'], ended, 7);
  await queues.look();
  expect(await store.functions.get(draining)).not.toBeNull(); // its machine may exist
  await store.runs.free(run.id, { cleanup: 'proved' });
  await queues.look();
  expect(await store.functions.get(draining)).toBeNull();
  expect(await store.functionVersions.get(draining, 1)).toBeNull();
});

it('removes expired runs with their contents, the last of an event first', async () => {
  const chain = await Promise.all(
    [0, 1].map(async (epoch) => {
      const id = deriveRunId('same', epoch);
      await accept(8 + epoch, { id, dedupe: 'same', epoch });
      await store.runContents.put(id, 'result', Buffer.from('x'));
      return id;
    }),
  );
  const [first = '', second = ''] = chain;
  await store.runs.end(first, ['queued'], { ...ended, endedAt: ago(40 * 86_400) }, 30);
  await store.runs.end(second, ['queued'], { ...ended, endedAt: ago(1) }, 30);
  await queues.removePast();
  expect(await store.runs.get(first)).not.toBeNull(); // else its event would count as new
  await store.runs.free(second, { cleanup: 'none' });
  const gone = runId(10);
  await accept(10, {});
  await store.runs.end(gone, ['queued'], { ...ended, endedAt: ago(40 * 86_400) }, 30);
  await store.runContents.put(gone, 'artifact/0', Buffer.from('x'));
  await queues.removePast();
  expect([await store.runs.get(gone), await store.runContents.get(gone, 'artifact/0')]).toEqual([null, null]);
});
