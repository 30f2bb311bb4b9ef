import { pino } from 'pino';
import { describe, expect } from 'vitest';
import { createAttemptActivities } from '../../../activities/function/attempt/attempt.ts';
import { WebhookPublisher } from '../../../activities/webhook/announcer.ts';
import { deriveAttemptIds, getLastAttempt } from '../../../model/functions/run.ts';
import { runWorkflowId, toRunInput } from '../../../model/functions/run-saga.ts';
import { isFinal } from '../../../model/sandbox/sandbox-state.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { OrphanedRunSandboxes } from '../../../worker/upkeep/functions/left-sandboxes.ts';
import { useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import type { MayflyCase } from '../../support/mayfly-case.ts';
import { callsIn, TestPool } from '../../support/pool.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Promise: an attempt gets a warm pool member where there is one, after any death, and leaves no residue. */
const { test, mayfly: all } = useSagaCases();
const door = useTestDoor(all);

/** Memory size of the next pool, MiB: members are found by size, so each test has its own. */
let sizes = 300;

/** Timers of a pool that acts when it is set, and not again during a test. */
const ONCE = { lookMs: 600_000, quietMs: 600_000, patienceMs: 0 };

async function pooled(mayfly: MayflyCase, { members: count = 1, isShared = false, times = {} as object } = {}) {
  const memoryMib = sizes++;
  const pool = isShared ? await TestPool.shared(mayfly) : await TestPool.in(mayfly);
  await pool.set({ min: count, max: count, memoryMib }, times);
  const members = await pool.warm(count);
  const functions = new TestFunctions(callsIn(door, pool, mayfly));
  const deploy = (command: string, more: object = {}) => functions.deploy(command, { memoryMib, ...more });
  return { pool, ids: members.map(({ id }) => id), functions, deploy, memoryMib };
}

const sandboxOf = ({ attempts }: Run) => attempts.at(-1)?.sandboxId ?? '';
const CLEAN = { state: 'ended', outcome: 'succeeded', cleanup: 'proved' } as const;

describe.concurrent('a run', () => {
  for (const isShared of [false, true]) {
    test(`has a member of ${isShared ? 'a pool that all share' : 'its project’s pool'}, and leaves nothing of it`, async ({
      mayfly,
    }) => {
      const { pool, ids, functions, deploy } = await pooled(mayfly, { isShared });
      const run = await functions.run(await deploy('echo here'));
      expect(run).toMatchObject(CLEAN);
      expect(ids).toContain(sandboxOf(run));
      expect(await functions.output(run.id)).toBe('here\n');
      expect(await mayfly.record(sandboxOf(run))).toMatchObject({
        state: 'destroyed',
        builds: 'run',
        boot: { way: 'warm' },
        spec: { metadata: { run: run.id } },
        proof: expect.not.objectContaining({ unproved: expect.anything() }),
      });
      expect(await mayfly.store.sandboxes.get(deriveAttemptIds(run.id, 1).sandboxId)).toBeNull();
      const { events } = await all().client.workflow.getHandle(runWorkflowId(run.id)).fetchHistory();
      expect(events?.filter(({ activityTaskFailedEventAttributes: failed }) => failed)).toEqual([]);
      await pool.until(({ claims }) => claims.hits === 1);
      await pool.end();
    });
  }

  test('creates its own sandbox if the member is claimed, unresponsive or of another size', async ({ mayfly }) => {
    const { pool, ids, functions, deploy } = await pooled(mayfly, { times: ONCE });
    const [id = ''] = ids;
    mayfly.arm('greet.before=1*error', id);
    const refused = await functions.run(await deploy('true'));
    const larger = await functions.run(await deploy('true', { memoryMib: sizes++ }));
    const name = await deploy('sleep 2');
    const both = await Promise.all([functions.run(name, 1), functions.run(name, 2)]);
    for (const run of [refused, larger, ...both]) expect(run).toMatchObject(CLEAN);
    for (const run of [refused, larger]) expect(sandboxOf(run)).toBe(deriveAttemptIds(run.id, 1).sandboxId);
    expect(both.map(sandboxOf).filter((each) => ids.includes(each))).toHaveLength(1);
    await pool.end();
  });
});

describe.concurrent('a worker that continues an admitted run', () => {
  /** Admits a run and starts its first attempt, whose control worker dies before or after it claims a member. */
  async function begun(mayfly: MayflyCase, when: 'before' | 'after') {
    const { pool, ids, functions, deploy } = await pooled(mayfly);
    const name = await deploy('echo here');
    await functions.pause(name);
    const { id: runId } = await functions.trigger(name);
    const { store, client } = all();
    const reconciliation = new ControlTemporalClient(client);
    const dying = new ControlTemporalClient(client);
    dying.pools.claimOnce = async (...args) => {
      if (when === 'after') await reconciliation.pools.claimOnce(...args);
      throw new Error('the process has died');
    };
    const activitiesOf = (of: ControlTemporalClient) =>
      createAttemptActivities({ store, reconciliation: of, announcer: new WebhookPublisher(store, of) });
    const run = async () => {
      const found = await store.runs.get(runId);
      if (!found) throw new Error(`${runId} is gone`);
      return found;
    };
    await store.runQueue.admit(await run(), { concurrency: [], throttle: null }, new Date().toISOString());
    const attempt = await activitiesOf(reconciliation).beginAttempt({ runId });
    if (!attempt || 'lacksSlot' in attempt) throw new Error('there is no attempt');
    await expect(activitiesOf(dying).attemptSandbox({ runId })).rejects.toThrow('died');
    return { pool, ids, runId, run, attempt, functions, reconciliation, activities: activitiesOf(reconciliation) };
  }

  test('destroys a member that is granted after the run has ended', async ({ mayfly }) => {
    const { store, client } = all();
    const { pool, ids, functions, deploy, memoryMib } = await pooled(mayfly, { members: 2 });
    const run = await functions.run(await deploy('true'));
    const [late = ''] = ids.filter((id) => id !== sandboxOf(run));
    const { spec } = await mayfly.record(sandboxOf(run));
    const { cpus = 1 } = (await mayfly.record(late)).size ?? {};
    const asked = {
      spec,
      size: { cpus, memoryMib },
      actor: pool.actor,
      requestedAt: run.acceptedAt,
    };
    const reconciliation = new ControlTemporalClient(client);
    const look = new OrphanedRunSandboxes(store, reconciliation, pino({ enabled: false }));
    await look.look(Date.now() + 3_600_000);
    await reconciliation.pools.claimOnce(late, {
      ...asked,
      requestId: deriveAttemptIds(run.id, 1).sandboxId,
      builds: 'run',
    });
    await look.look(Date.now() + 3_600_000);
    await eventually(() => mayfly.record(late), { state: 'destroyed' });
    await pool.end();
  });

  for (const when of ['before', 'after'] as const) {
    test(`when its worker died ${when} it had a member has that one`, async ({ mayfly }) => {
      const { pool, ids, runId, run, functions, reconciliation } = await begun(mayfly, when);
      expect(ids).toContain((await run()).member);
      await reconciliation.functions.startRun(toRunInput(await run()), false);
      const over = await functions.over({ id: runId });
      expect(over).toMatchObject(CLEAN);
      expect(ids).toContain(sandboxOf(over));
      await pool.end();
    });
  }

  test('and abandons it destroys the member that was granted to the dead worker', async ({ mayfly }) => {
    const { pool, ids, runId, run, attempt, activities } = await begun(mayfly, 'after');
    const event = { eventId: `${runId}/run.cleaned`, kind: 'run.cleaned', actor: null, runId, hostId: null } as const;
    const { n, sandboxId, commandId, begunAt } = attempt;
    const said = { runId, n, sandboxId, commandId, begunAt, tries: 1 };
    const left = { ...said, event: { ...event, at: begunAt, detail: {} } };
    const end = { outcome: 'not-started', exitCode: null, signal: null, startedAt: null, failure: null } as const;
    await activities.endAttempt({
      ...said,
      end,
      fetched: {},
      event: { ...left.event, eventId: 'x', kind: 'run.ended' },
    });
    await eventually(
      () =>
        activities.leaveAttempt(left).then(
          () => 'left',
          () => 'not yet',
        ),
      (came) => came === 'left',
    );
    const [id = ''] = ids;
    const { state, pool: of } = await mayfly.record(id);
    expect([isFinal(state), of?.claimedBy]).toEqual([true, deriveAttemptIds(runId, 1).sandboxId]);
    expect(getLastAttempt(await run())).toMatchObject({ cleanup: 'proved' });
    await pool.end();
  });
});
