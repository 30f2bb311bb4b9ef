import { expect } from 'vitest';
import type { BulkAction } from '../../clients/typescript/http/openapi.ts';
import { type BulkRecord, bulkWorkflowId } from '../../model/functions/bulk.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { useTestDoor } from '../support/door.ts';
import { eventually } from '../support/eventually.ts';
import { type Run, TestFunctions } from '../support/functions.ts';
import { intervene } from '../support/interventions.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { tier } from '../support/sweep.ts';

/** Bulk actions on runs, which stay queued, so that none needs a machine. */
const { test, alone, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);

const COUNT = tier() === 'all' ? 500 : 60;
const bulkOf = async (response: Promise<Response>) => (await (await response).json()) as BulkAction;
const start = (name: string, body: object, headers: Record<string, string> = {}) =>
  bulkOf(door.call('POST', `/v1/functions/${name}/bulk`, body, headers));
const over = (name: string, { id }: Pick<BulkAction, 'id'>) =>
  eventually(
    () => bulkOf(door.call('GET', `/v1/functions/${name}/bulk/${id}`)),
    ({ endedAt }) => endedAt !== null,
  );

/** Creates dead runs that never had a machine, of a paused function. */
async function dead(count: number): Promise<{ name: string; ids: string[] }> {
  const name = await functions.deploy('true');
  await functions.pause(name);
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await functions.trigger(name, { n });
    const at = new Date().toISOString();
    await all().store.runs.end(id, ['queued'], { outcome: 'expired', endedAt: at, updatedAt: at }, 7);
    ids.push(id);
  }
  return { name, ids };
}

async function runsOf(name: string): Promise<Run[]> {
  const found: Run[] = [];
  for (let cursor = ''; ; ) {
    const response = await door.call('GET', `/v1/runs?function=${name}&limit=100${cursor}`);
    const page = (await response.json()) as { items: Run[]; nextCursor: string | null };
    found.push(...page.items);
    if (page.nextCursor === null) return found;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

test('dead letters are redriven once each, despite a lost workflow and a repeated request (case 32)', async () => {
  const { name, ids } = await dead(COUNT);
  const key = { 'Idempotency-Key': 'all of them' };
  const first = await start(name, { action: 'redrive' }, key);
  await eventually(
    () => all().store.bulks.get(first.id),
    (bulk) => (bulk?.pages ?? 0) > 0,
  );
  const reconciliation = new ControlTemporalClient(all().client);
  await reconciliation.terminate(bulkWorkflowId(first.id), 'lost');
  expect((await start(name, { action: 'redrive' }, key)).id).toBe(first.id);
  const second = await start(name, { action: 'redrive' });
  await reconciliation.functions.startBulk({ bulkId: first.id, project: 'default', function: name });
  const ends = [await over(name, first), await over(name, second)];
  expect(ends.map(({ state, counts: { refused } }) => [state, refused])).toEqual([
    ['succeeded', 0],
    ['succeeded', 0],
  ]);
  const runs = await runsOf(name);
  expect(runs).toHaveLength(2 * COUNT);
  const redrives = runs.filter(({ redriveOf }) => redriveOf !== null);
  expect(redrives).toHaveLength(ids.length);
  expect(new Set(redrives.map(({ redriveOf }) => redriveOf))).toEqual(new Set(ids));
  for (const id of ids) expect((await functions.get(id)).redrivenAs).not.toBeNull();
});

test('a page whose worker died before it was recorded is continued, and its actions are counted', async ({
  mayfly,
}) => {
  const { name: other } = await dead(0);
  const record = await all().store.bulks.get((await start(other, { action: 'redrive' })).id);
  const { name, ids } = await dead(3);
  const redrive = {
    ...record,
    id: 'blk-0123456789abcdef',
    function: name,
    state: 'running',
    endedAt: null,
  } as BulkRecord;
  await all().store.bulks.create({ ...redrive, createdAt: new Date().toISOString() });
  mayfly.arm('actOnBulk.after=error(store_unavailable)', redrive.id);
  const reconciliation = new ControlTemporalClient(all().client);
  const input = { bulkId: redrive.id, project: 'default', function: name };
  await reconciliation.functions.startBulk(input);
  await eventually(
    () => functions.get(ids[0] ?? ''),
    ({ redrivenAs }) => redrivenAs !== null,
  );
  await reconciliation.terminate(bulkWorkflowId(redrive.id), 'lost');
  mayfly.disarm();
  await reconciliation.functions.startBulk(input);
  expect(await over(name, { id: redrive.id } as BulkAction)).toMatchObject({
    state: 'succeeded',
    counts: { done: 3, unchanged: 0, refused: 0 },
  });
  expect(await runsOf(name)).toHaveLength(6);
});

test('a replay excludes its own runs; a cancel ends queued ones; ended ones are unchanged', async () => {
  const { name, ids } = await dead(3);
  const replay = await over(name, await start(name, { action: 'replay', filter: { outcome: 'expired' } }));
  expect(replay).toMatchObject({ state: 'succeeded', counts: { done: 3, unchanged: 0, refused: 0 } });
  const waiting = (await runsOf(name)).filter(({ state }) => state === 'queued');
  expect(waiting).toHaveLength(ids.length);
  expect(new Set(waiting.map(({ replayOf }) => replayOf))).toEqual(new Set(ids));
  const cancel = await over(name, await start(name, { action: 'cancel' }));
  expect(cancel.counts).toEqual({ done: 3, unchanged: 0, refused: 0 });
  const outcomes = (await runsOf(name)).map(({ outcome }) => String(outcome)).toSorted();
  expect(outcomes).toEqual([...Array(3).fill('cancelled'), ...Array(3).fill('expired')]);
  const late = await bulkOf(door.call('POST', `/v1/functions/${name}/bulk/${cancel.id}/cancel`));
  expect(late.state).toBe('succeeded');
});

test('runs of a deleted version are each refused and reported', async () => {
  const { name } = await dead(2);
  await functions.deployAs(name, 'false');
  await all().store.functionVersions.remove({ project: 'default', name }, 1);
  const end = await over(name, await start(name, { action: 'redrive', version: 'same' }));
  expect(end).toMatchObject({ state: 'succeeded', counts: { done: 0, refused: 2 } });
  expect(end.refusals).toHaveLength(2);
  expect(end.refusals[0]?.failure.code).toBe('function_gone');
});

alone('is cancelled when an operator cancels its workflow', async () => {
  const { name } = await dead(1);
  await all().stopControl();
  const bulk = await start(name, { action: 'redrive' });
  await intervene(all().client, bulkWorkflowId(bulk.id), 'cancel');
  await all().startControl();
  expect(await over(name, bulk)).toMatchObject({ state: 'cancelled' });
});
