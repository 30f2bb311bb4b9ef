import { describe, expect } from 'vitest';
import { deriveAttemptIds } from '../../../model/functions/run.ts';
import { runWorkflowId, toRunInput } from '../../../model/functions/run-saga.ts';
import { DIFF_STATES, deriveDiffSnapshotId, deriveRetainedSnapshotId } from '../../../model/functions/traces.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { RetentionExpiry } from '../../../worker/upkeep/functions/kept-failures.ts';
import { TestDoor, useTestDoor } from '../../support/door.ts';
import { eventually } from '../../support/eventually.ts';
import { type Run, TestFunctions } from '../../support/functions.ts';
import { loseWorkflow } from '../../support/lose-workflow.ts';
import { delayFault } from '../../support/passage-of-time.ts';
import { useSagaCases } from '../../support/saga-cases.ts';

/** Retention of failed runs: it starts, expires, and delays nothing. */
const { test, alone, mayfly: all } = useSagaCases();
const door = useTestDoor(all);
const functions = new TestFunctions(door);

const KEEP = { keep: { onFailure: 'disk' } } as const;
const FAILS = 'echo evidence > ~/evidence; exit 3';

/** Triggers a run with faults armed before it starts. @param arm faults at the steps of its first sandbox */
async function held(command: string, more: object, arm: (sandboxId: string) => void): Promise<Run> {
  const name = await functions.deploy(command, { ...KEEP, ...more });
  await functions.pause(name);
  const { id } = await functions.trigger(name);
  arm(deriveAttemptIds(id, 1).sandboxId);
  await functions.resume(name);
  return functions.get(id);
}

const NOTHING = { snapshotId: null, until: null, goneAt: null };
const snapshot = (id: string) => all().store.snapshots.get(id);
/** Returns all snapshots of the first attempt of a run. */
const snapshotsOf = async ({ id }: Pick<Run, 'id'>) => {
  const ids = [1, 2, 3].map((nth) => deriveRetainedSnapshotId(deriveAttemptIds(id, 1).sandboxId, nth));
  return (await Promise.all(ids.map(snapshot))).filter((each) => each !== null);
};
const isProved = (run: Run) =>
  expect(run).toMatchObject({ state: 'ended', cleanup: 'proved', attempts: [{ cleanup: 'proved' }] });

async function removed({ kept }: Run): Promise<void> {
  const id = kept?.snapshotId ?? '';
  expect((await door.call('DELETE', `/v1/snapshots/${id}`, undefined, { Prefer: 'wait=60' })).status).toBe(200);
}

describe.concurrent('nothing is retained', () => {
  const cases: [title: string, command: string, more: object, outcome: string][] = [
    ['of one that succeeded', 'true', KEEP, 'succeeded'],
    ['of a function that does not say so', FAILS, {}, 'failed'],
    ['of a function that says `none`', FAILS, { keep: { onFailure: 'none' } }, 'failed'],
  ];
  test.for(cases)('%s', async ([, command, more, outcome]) => {
    const run = await functions.run(await functions.deploy(command, more));
    expect(run).toMatchObject({ outcome, kept: null });
    isProved(run);
    expect(await snapshotsOf(run)).toEqual([]);
  });

  test('of a cancelled run', async () => {
    const { id } = await functions.trigger(await functions.deploy('echo began; sleep 1000', KEEP));
    await eventually(() => functions.output(id), /began/);
    await functions.cancel(id);
    const run = await functions.over({ id });
    expect(run).toMatchObject({ outcome: 'cancelled', kept: null });
    expect(await snapshotsOf(run)).toEqual([]);
  });
});

test('only the last failed attempt is retained', async () => {
  const retry = { maxAttempts: 2, on: ['failed'], backoff: { initialSeconds: 0, jitter: false } };
  const run = await functions.run(await functions.deploy(FAILS, { ...KEEP, idempotent: true, retry }));
  const ids = [1, 2].map((tries) => deriveRetainedSnapshotId(deriveAttemptIds(run.id, tries).sandboxId, 1));
  expect(run).toMatchObject({ outcome: 'failed', attempts: [{ n: 1 }, { n: 2 }], kept: { snapshotId: ids[1] } });
  expect(await snapshot(ids[0] ?? '')).toBeNull();
  await removed(run);
});

test('a timed-out run is retained, without its secrets on the tmpfs', async ({ operations }) => {
  const name = `kept-secret-${Date.now()}`;
  expect((await door.call('PUT', `/v1/secrets/${name}`, { value: 'canary-4711-canary' })).status).toBe(201);
  const command = 'grep -q canary $MAYFLY_SECRETS/key && echo here > ~/here; sleep 1000';
  const secrets = [{ name, file: 'key' }];
  const run = await functions.run(await functions.deploy(command, { ...KEEP, secrets, timeoutSeconds: 2 }));
  expect(run).toMatchObject({ outcome: 'timed-out', kept: { snapshotId: expect.anything(), failure: null } });
  const id = await forked(run);
  const found =
    'cat ~/here; ls /run/mayfly-secrets 2>&1 | grep -c key; grep -rl canary-471[1] /home /run /tmp /var | wc -l';
  expect(await operations.sh(id, found)).toBe('here\n0\n0\n');
  await destroyed(id);
  await removed(run);
});

/** Creates a sandbox from the retained snapshot, and returns its id. */
async function forked({ kept }: Run): Promise<string> {
  const headers = { Prefer: 'wait=60' };
  const response = await door.call('POST', '/v1/sandboxes', { snapshotId: kept?.snapshotId }, headers);
  const body = (await response.json()) as { id: string };
  expect({ status: response.status, body }).toMatchObject({ status: 201 });
  return body.id;
}

async function destroyed(id: string): Promise<void> {
  expect((await door.call('DELETE', `/v1/sandboxes/${id}`, undefined, { Prefer: 'wait=60' })).status).toBe(200);
}

test('a failed snapshot is retried under another id, and the first leaves no residue', async ({ mayfly }) => {
  const { id } = await held(FAILS, {}, (sandboxId) => mayfly.arm('saveSnapshot.after=1*error', sandboxId));
  const run = await functions.over({ id });
  isProved(run);
  const [first, second] = await snapshotsOf(run);
  expect(first).toMatchObject({ state: 'failed', saved: null });
  expect(second).toMatchObject({ state: 'ready', name: id, reason: 'failed-run' });
  expect(run.kept).toMatchObject({ snapshotId: second?.id, failure: null });
  await removed(run);
});

test('a snapshot that never succeeds is abandoned: the run keeps its outcome, reports why, and its sandbox ends', async ({
  mayfly,
}) => {
  const { id } = await held(FAILS, {}, (sandboxId) => mayfly.arm('saveSnapshot.before=error', sandboxId));
  const run = await functions.over({ id });
  isProved(run);
  expect(run).toMatchObject({ outcome: 'failed', exitCode: 3, kept: { snapshotId: null, until: null } });
  expect(run.kept?.failure).toMatchObject({ code: 'fault_injected' });
  expect((await snapshotsOf(run)).map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
});

test('a full disk and an exceeded quota are reported and not retried', async ({ mayfly }) => {
  const full = await held(FAILS, {}, (sandboxId) => mayfly.arm('saveSnapshot.before=error(host_disk_full)', sandboxId));
  const run = await functions.over(full);
  isProved(run);
  expect(run.kept).toMatchObject({ snapshotId: null, failure: { code: 'host_disk_full' } });
  expect(await snapshotsOf(run)).toHaveLength(1);
});

test('the storage quota of a project includes retained snapshots', async () => {
  const project = `kept${Date.now()}`;
  const { store } = all();
  await store.projects.create(project, { sources: null, limits: { diskBytes: 70 * 1_048_576 } });
  const { secret } = await store.apiKeys.create({ name: 'test', project, scopes: ['admin'] });
  const limited = await TestDoor.open(all(), secret);
  const own = new TestFunctions(limited);
  const command = 'head -c 40000000 /dev/urandom > ~/large; sync; sleep 4; exit 3';
  const run = await own.run(await own.deploy(command, KEEP));
  isProved(run);
  const message = expect.stringContaining(project);
  expect(run.kept).toEqual({ ...NOTHING, failure: { code: 'quota_exceeded', message } });
  limited.close();
});

test('a retained snapshot is deleted at its expiry or by its owner, and the run records it', async () => {
  const name = await functions.deploy(FAILS, { keep: { onFailure: 'disk', days: 1 } });
  const [one, other] = await Promise.all([functions.run(name), functions.run(name)]);
  expect([one.kept?.goneAt, other.kept?.goneAt]).toEqual([null, null]);
  await removed(other);
  expect((await functions.get(other.id)).kept).toMatchObject({ goneAt: expect.any(String) });
  const upkeep = new RetentionExpiry(all().store, new ControlTemporalClient(all().client));
  await upkeep.look();
  expect(await snapshot(one.kept?.snapshotId ?? '')).toMatchObject({ state: 'ready' });
  await upkeep.look(new Date(Date.parse(one.kept?.until ?? '') + 1).toISOString());
  await all().sagas.snapshots.deleted(one.kept?.snapshotId ?? '', AbortSignal.timeout(60_000));
  expect(await snapshot(one.kept?.snapshotId ?? '')).toMatchObject({ state: 'deleted' });
  expect((await functions.get(one.id)).kept).toMatchObject({ goneAt: expect.any(String) });
});

test('a run whose workflow is lost during the snapshot continues, diff included', async ({ mayfly }) => {
  const { id } = await held(FAILS, { diff: true }, (sandboxId) => {
    mayfly.arm('verifySnapshot.before=delay(1500)', sandboxId);
  });
  await eventually(() => snapshotsOf({ id }), { 0: { state: 'creating' } });
  await loseWorkflow(all().client, runWorkflowId(id));
  const record = await all().store.runs.get(id);
  if (!record) throw new Error('it is gone');
  await new ControlTemporalClient(all().client).functions.startRun(toRunInput(record), false);
  const run = await functions.over({ id });
  isProved(run);
  expect((await snapshotsOf(run)).map(({ state }) => state)).toEqual(['ready']);
  expect(run).toMatchObject({ outcome: 'failed', kept: { failure: null }, diff: { failure: null } });
  const sides = DIFF_STATES.map((side) => deriveDiffSnapshotId(deriveAttemptIds(id, 1).sandboxId, side));
  await eventually(
    () => Promise.all(sides.map(snapshot)),
    (found) => found.every((one) => one?.state === 'deleted'),
  );
  await removed(run);
});

describe('a worker death during the snapshot', () => {
  const dying: [who: string, restart: () => Promise<void>][] = [
    [
      'the control worker',
      async () => {
        await all().stopControl();
        await all().startControl();
      },
    ],
    [
      'the host worker',
      async () => {
        await all().host?.stop();
        await all().startHost();
      },
    ],
  ];
  alone.for(dying)('%s: there is one snapshot, and the sandbox is gone', async ([, restart], { mayfly }) => {
    const { id } = await held(FAILS, {}, (sandboxId) => mayfly.arm('saveSnapshot.during=1*delay(3000)', sandboxId));
    await eventually(() => snapshotsOf({ id }), { 0: { state: 'creating' } });
    await delayFault(500);
    await restart();
    const run = await functions.over({ id });
    isProved(run);
    const whole = (await snapshotsOf(run)).filter(({ state }) => state === 'ready');
    expect(whole).toHaveLength(1);
    expect(run).toMatchObject({ outcome: 'failed', kept: { snapshotId: whole[0]?.id, failure: null } });
    await removed(run);
  });
});
