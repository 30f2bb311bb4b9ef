import { describe, expect } from 'vitest';
import { deriveAttemptIds } from '../../../model/functions/run.ts';
import { runWorkflowId, toRunInput } from '../../../model/functions/run-saga.ts';
import { RECONCILER } from '../../../model/sagas/reconcile.ts';
import { newCommandRecord } from '../../../model/sandbox/command.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { listAuditKinds } from '../../support/audit-kinds.ts';
import { isRunning, SLEEPS, useFunctionCases } from '../../support/function-cases.ts';
import type { Run } from '../../support/functions.ts';
import { loseWorkflow } from '../../support/lose-workflow.ts';
import { letTimePass } from '../../support/passage-of-time.ts';
import { sweepOn } from '../../support/sweep.ts';

/** Runs of functions, from their event to the proof. */
const { test, alone, mayfly: all, door, functions, triggerArmed, awaitStart } = useFunctionCases();
const sweep = sweepOn(alone);

/** Attempts after which an activity of a run fails (PROFILE.work). */
const COLLECT_ATTEMPTS = 8;

/** Audit events of a run with free slots, for any number of attempts. */
const AUDITED = ['run.admitted', 'run.ended', 'run.cleaned'];

describe.concurrent('a process that ends with', () => {
  const cases: [title: string, command: string, more: object, expected: object][] = [
    ['no result (case 12)', 'true', {}, { outcome: 'succeeded', result: null }],
    [
      'what is not JSON (case 13)',
      'echo nonsense > $MAYFLY_RESULT',
      {},
      { outcome: 'failed', exitCode: 0, failure: { code: 'result_invalid' }, result: { partial: true } },
    ],
    [
      'text, which it says',
      'echo hello > $MAYFLY_RESULT; echo text/plain > $MAYFLY_RESULT.type',
      {},
      { outcome: 'succeeded', result: { contentType: 'text/plain', bytes: 6 } },
    ],
    [
      'more than it may (case 13)',
      'head -c 5000 /dev/zero | tr "\\0" 1 > $MAYFLY_RESULT',
      { result: { maxBytes: 1_000 } },
      { outcome: 'failed', failure: { code: 'result_too_large' }, result: { partial: true, bytes: 1_000 } },
    ],
    [
      'a link in the place of the result (case 14)',
      'ln -s /etc/passwd $MAYFLY_RESULT',
      {},
      { outcome: 'failed', failure: { code: 'result_invalid' }, result: null },
    ],
    [
      'a pipe in the place of the result (case 14)',
      'mkfifo $MAYFLY_RESULT',
      {},
      { outcome: 'failed', failure: { code: 'result_invalid' }, result: null },
    ],
    [
      'artifacts with a name that has a newline (case 14)',
      'touch "$MAYFLY_ARTIFACTS/a\nb"',
      {},
      { outcome: 'failed', failure: { code: 'result_invalid' }, artifacts: [] },
    ],
    [
      'more artifacts than it may, of which the first are kept (case 14)',
      'cd $MAYFLY_ARTIFACTS; for i in 1 2 3 4; do head -c 400 /dev/zero > $i; done',
      { artifacts: { maxBytes: 1_000 } },
      { outcome: 'failed', failure: { code: 'result_too_large' }, artifacts: [{ bytes: 400 }, { bytes: 400 }] },
    ],
    [
      'a child that outlives it (case 15)',
      '(sleep 1000 & echo $!); echo 1 > $MAYFLY_RESULT',
      {},
      { outcome: 'succeeded', result: { bytes: 2 } },
    ],
    ['its own end by a signal', 'kill -KILL $$', {}, { outcome: 'failed', signal: 'SIGKILL' }],
    [
      'too late, whatever it ignores (case 19)',
      'trap "" TERM; echo started; while :; do sleep 1; done',
      { timeoutSeconds: 1 },
      { outcome: 'timed-out', failure: { code: 'run_timed_out' } },
    ],
    [
      'a program that is not there',
      'exec ./missing',
      { command: undefined, argv: ['./missing'] },
      { outcome: 'not-started' },
    ],
  ];
  sweep(cases)('%s', async ([, command, more, expected]) => {
    const run = await functions().run(await functions().deploy(command, more));
    expect(run).toMatchObject({ state: 'ended', cleanup: 'proved', ...expected });
  });
});

describe('a cancel (case 17)', () => {
  test('of a run in preparation undoes it', async ({ mayfly }) => {
    const run = await triggerArmed('true', {}, ({ runId }) => mayfly.arm('placeRunFiles.before=delay(3000)', runId));
    await functions().until(run.id, ({ attempts }) => attempts.length === 1);
    expect((await functions().cancel(run.id)).status).toBe(202);
    expect(await functions().over(run)).toMatchObject({
      outcome: 'cancelled',
      cleanup: 'proved',
      startedAt: null,
      cancelledBy: { project: 'default' },
    });
  });

  test('of a run whose result is being fetched is too late', async ({ mayfly }) => {
    const run = await triggerArmed('echo 1 > $MAYFLY_RESULT', {}, ({ runId }) =>
      mayfly.arm('collectRun.before=delay(2000)', runId),
    );
    await functions().until(run.id, ({ state }) => state === 'collecting');
    await functions().cancel(run.id);
    expect(await functions().over(run)).toMatchObject({
      outcome: 'succeeded',
      result: { bytes: 2 },
      cleanup: 'proved',
    });
  });
});

describe('a machine that dies after the start', () => {
  const dead = async (run: Run) => {
    const { attempts } = await awaitStart(run.id);
    await all().destroy({ ...all().input(), id: attempts[0]?.sandboxId ?? '' });
  };

  test('leaves an unknown outcome, and no second process (case 8)', async () => {
    const run = await functions().trigger(await functions().deploy(SLEEPS));
    await dead(run);
    expect(await functions().over(run)).toMatchObject({
      outcome: 'unknown',
      failure: { code: 'run_interrupted' },
      cleanup: 'proved',
      attempts: [{ n: 1 }],
    });
  });

  test('of an idempotent function causes a second attempt, after the first is proved destroyed (case 9)', async () => {
    const retry = { maxAttempts: 3, backoff: { initialSeconds: 0 } };
    const command = 'echo started $MAYFLY_ATTEMPT; [ $MAYFLY_ATTEMPT = 2 ] || sleep 1000';
    const run = await functions().trigger(await functions().deploy(command, { idempotent: true, retry }));
    await dead(run);
    const over = await functions().over(run);
    expect(over).toMatchObject({
      outcome: 'succeeded',
      cleanup: 'proved',
      attempts: [
        { n: 1, outcome: 'unknown', cleanup: 'proved' },
        { n: 2, outcome: 'succeeded', cleanup: 'proved' },
      ],
    });
    const [first, second] = over.attempts;
    const gone = await all().store.sandboxes.get(first?.sandboxId ?? '');
    expect(Date.parse(second?.startedAt ?? '')).toBeGreaterThan(Date.parse(gone?.proof?.provedAt ?? ''));
    expect(await functions().output(run.id)).toBe('started 2\n');
  });
});

test('a large event arrives complete on standard input and as a file, for command and argv', async () => {
  const data = { text: 'x'.repeat(5_000_000) };
  const more = { input: { maxBytes: 8_000_000 } };
  const same = 'cmp - "$MAYFLY_EVENT" && wc -c < "$MAYFLY_EVENT"';
  for (const [command, argv] of [
    [same, undefined],
    [undefined, ['/bin/sh', '-c', same]],
  ] as const) {
    const run = await functions().run(await functions().deploy('', { ...more, command, argv }), data);
    expect(run).toMatchObject({ outcome: 'succeeded' });
    expect(Number(await functions().output(run.id))).toBe(run.eventBytes);
  }
});

test('a cancel between two attempts ends the run', async () => {
  const retry = { maxAttempts: 2, backoff: { initialSeconds: 3_600, jitter: false } };
  const run = await functions().trigger(await functions().deploy('exit 1', { idempotent: true, retry }));
  await functions().until(run.id, ({ waitingFor }) => waitingFor === 'retry');
  await functions().cancel(run.id);
  expect(await functions().over(run)).toMatchObject({ outcome: 'cancelled', attempts: [{ n: 1, outcome: 'failed' }] });
});

test('the retry exit code causes another attempt, and no other code does', async ({ mayfly }) => {
  const retry = { maxAttempts: 3, on: [], backoff: { initialSeconds: 0 } };
  const again = await triggerArmed('[ $MAYFLY_ATTEMPT = 3 ] || exit 75', { idempotent: true, retry }, ({ runId }) =>
    mayfly.arm('beginAttempt.after=1*error(store_unavailable)', runId),
  );
  expect(await functions().over(again)).toMatchObject({ outcome: 'succeeded', attempts: [{}, {}, { n: 3 }] });
  expect(await listAuditKinds(all(), again.id)).toEqual(AUDITED);
  const not = await functions().deploy('exit 74', { idempotent: true, retry });
  expect(await functions().run(not)).toMatchObject({ outcome: 'failed', attempts: [{ n: 1 }] });
});

test('a run that cannot start fails with the reason', async ({ mayfly }) => {
  const run = await triggerArmed('true', {}, ({ runId }) => mayfly.arm('placeRunFiles.before=error', runId));
  expect(await functions().over(run)).toMatchObject({
    outcome: 'not-started',
    failure: { code: 'fault_injected' },
    cleanup: 'proved',
    startedAt: null,
  });
});

test('a run without capacity keeps its place, and starts when there is capacity (case 30)', async ({ mayfly }) => {
  const run = await triggerArmed('true', {}, ({ sandboxId }) =>
    mayfly.arm('reserve.after=error(capacity_exhausted)', sandboxId),
  );
  await functions().until(run.id, ({ waitingFor }) => waitingFor === 'capacity');
  expect(await functions().over(run)).toMatchObject({ outcome: 'succeeded', attempts: [{ n: 1 }] });
});

test('a cancel survives the loss of its workflow', async () => {
  const run = await functions().trigger(await functions().deploy(SLEEPS));
  await awaitStart(run.id);
  await loseWorkflow(all().client, runWorkflowId(run.id));
  expect((await functions().cancel(run.id)).status).toBe(202);
  const record = await all().store.runs.get(run.id);
  if (!record) throw new Error('it is gone');
  await new ControlTemporalClient(all().client).functions.startRun(toRunInput(record), false);
  expect(await functions().over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', attempts: [{ n: 1 }] });
  expect(await functions().output(run.id)).toBe('started\n');
});

test('a result waits for an unavailable host while its sandbox lives (case 10)', async ({ mayfly }) => {
  const run = await triggerArmed('echo 1 > $MAYFLY_RESULT', {}, ({ runId }) =>
    mayfly.arm(`collectRun.before=${COLLECT_ATTEMPTS + 1}*error(host_unavailable)`, runId),
  );
  expect(await functions().over(run)).toMatchObject({ outcome: 'succeeded', result: { bytes: 2 } });
  const { events } = await all().client.workflow.getHandle(runWorkflowId(run.id)).fetchHistory();
  const failed = events?.findIndex((event) => event.activityTaskFailedEventAttributes) ?? -1;
  const after = events?.slice(failed) ?? [];
  const nextTimer = after.findIndex((event) => event.timerStartedEventAttributes);
  const nextTry = after.findIndex((event) => event.activityTaskScheduledEventAttributes);
  expect(failed).toBeGreaterThan(0);
  expect(nextTimer).toBeGreaterThan(0);
  expect(nextTimer).toBeLessThan(nextTry); // it backs off before the next try
});

test('a process that another worker has started is not started again', async ({ mayfly }) => {
  const spec = { command: 'true', argv: null, cwd: null, user: null, envNames: [], stdinOpen: false };
  const whole = { ...spec, timeoutSeconds: 1, maxOutputBytes: 1 };
  const run = await triggerArmed('true', {}, async ({ runId, sandboxId }) => {
    const place = { id: sandboxId, ...mayfly.hostRef };
    const command = newCommandRecord(deriveAttemptIds(runId, 1).commandId, place, whole, RECONCILER);
    await mayfly.store.commands.create({ ...command, state: 'running' });
    mayfly.arm('placeRunFiles.before=error', runId);
  });
  const { sandboxId } = deriveAttemptIds(run.id, 1);
  expect(await functions().over(run)).toMatchObject({ outcome: 'unknown', attempts: [{ n: 1, sandboxId }] });
});

test('a dead letter is redriven on the newest version, and its process gets the id of the original run', async () => {
  const name = await functions().deploy('exit 1');
  const dead = await functions().run(name, { n: 1 });
  await functions().deployAs(name, 'cat > "$MAYFLY_RESULT"; echo "of $MAYFLY_REPLAY_OF"');
  await letTimePass(1_000); // the cached old version is accepted for a second, and a redrive only once
  const { id } = (await (await door().call('POST', `/v1/runs/${dead.id}/redrive`)).json()) as Run;
  const run = await functions().over({ id });
  expect(run).toMatchObject({ outcome: 'succeeded', version: 2, replayOf: dead.id, cleanup: 'proved' });
  expect(await functions().output(id)).toBe(`of ${dead.id}\n`);
  expect(await (await functions().result(id)).json()).toMatchObject({ data: { n: 1 } });
  const events = await (await door().call('GET', `/v1/runs/${id}/events`)).text();
  expect(events).toContain('"cleanup":"proved"');
});

test('a function is deleted only after its runs have ended, or with drain (case 28)', async () => {
  const name = await functions().deploy(SLEEPS);
  const run = await functions().trigger(name);
  await functions().until(run.id, isRunning);
  expect(await functions().delete(name)).toBe(409);
  expect(await functions().delete(name, '?drain=true')).toBe(202);
  expect((await functions().post(name, {})).status).toBeOneOf([202, 409]); // by its state of a second ago
  await functions().cancel(run.id);
  await functions().over(run);
});
