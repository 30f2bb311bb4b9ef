import { describe, expect } from 'vitest';
import { attemptIds } from '../../../model/functions/run.ts';
import { runInputOf, runWorkflowIdOf } from '../../../model/functions/run-saga.ts';
import { RECONCILER } from '../../../model/sagas/reconcile.ts';
import { requestedCommand } from '../../../model/sandbox/command.ts';
import { Reconciliation } from '../../../temporal/reconciliation.ts';
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

/** Of a run whose slots are free, however many attempts it had. */
const AUDITED = ['run.admitted', 'run.ended', 'run.cleaned'];

describe.concurrent('what a process leaves', () => {
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
  test('of one that is being prepared undoes it', async ({ mayfly }) => {
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

  test('of one whose result is being fetched comes too late', async ({ mayfly }) => {
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

  test('of an idempotent function is followed by another, when the first is proved gone (case 9)', async () => {
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

test('a large event comes whole, on standard input and as a file, to a command and to argv', async () => {
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

test('a cancel between two attempts is the end', async () => {
  const retry = { maxAttempts: 2, backoff: { initialSeconds: 3_600, jitter: false } };
  const run = await functions().trigger(await functions().deploy('exit 1', { idempotent: true, retry }));
  await functions().until(run.id, ({ waitingFor }) => waitingFor === 'retry');
  await functions().cancel(run.id);
  expect(await functions().over(run)).toMatchObject({ outcome: 'cancelled', attempts: [{ n: 1, outcome: 'failed' }] });
});

test('an exit code asks for another attempt, and no other code does', async ({ mayfly }) => {
  const retry = { maxAttempts: 3, on: [], backoff: { initialSeconds: 0 } };
  const again = await triggerArmed('[ $MAYFLY_ATTEMPT = 3 ] || exit 75', { idempotent: true, retry }, ({ runId }) =>
    mayfly.arm('beginAttempt.after=1*error(store_unavailable)', runId),
  );
  expect(await functions().over(again)).toMatchObject({ outcome: 'succeeded', attempts: [{}, {}, { n: 3 }] });
  expect(await listAuditKinds(all(), again.id)).toEqual(AUDITED);
  const not = await functions().deploy('exit 74', { idempotent: true, retry });
  expect(await functions().run(not)).toMatchObject({ outcome: 'failed', attempts: [{ n: 1 }] });
});

test('what never begins is given up, and says why', async ({ mayfly }) => {
  const run = await triggerArmed('true', {}, ({ runId }) => mayfly.arm('placeRunFiles.before=error', runId));
  expect(await functions().over(run)).toMatchObject({
    outcome: 'not-started',
    failure: { code: 'fault_injected' },
    cleanup: 'proved',
    startedAt: null,
  });
});

test('a run that finds no room waits in its place, and starts when there is some (case 30)', async ({ mayfly }) => {
  const run = await triggerArmed('true', {}, ({ sandboxId }) =>
    mayfly.arm('reserve.after=error(capacity_exhausted)', sandboxId),
  );
  await functions().until(run.id, ({ waitingFor }) => waitingFor === 'capacity');
  expect(await functions().over(run)).toMatchObject({ outcome: 'succeeded', attempts: [{ n: 1 }] });
});

test('a cancel holds though the workflow was lost that should hear it', async () => {
  const run = await functions().trigger(await functions().deploy(SLEEPS));
  await awaitStart(run.id);
  await loseWorkflow(all().client, runWorkflowIdOf(run.id));
  expect((await functions().cancel(run.id)).status).toBe(202);
  const record = await all().store.runs.get(run.id);
  if (!record) throw new Error('it is gone');
  await new Reconciliation(all().client).functions.startRun(runInputOf(record), false);
  expect(await functions().over(run)).toMatchObject({ outcome: 'cancelled', cleanup: 'proved', attempts: [{ n: 1 }] });
  expect(await functions().output(run.id)).toBe('started\n');
});

test('a result waits for a host that is away, for as long as its sandbox lives (case 10)', async ({ mayfly }) => {
  const run = await triggerArmed('echo 1 > $MAYFLY_RESULT', {}, ({ runId }) =>
    mayfly.arm(`collectRun.before=${COLLECT_ATTEMPTS + 1}*error(host_unavailable)`, runId),
  );
  expect(await functions().over(run)).toMatchObject({ outcome: 'succeeded', result: { bytes: 2 } });
  const { events } = await all().client.workflow.getHandle(runWorkflowIdOf(run.id)).fetchHistory();
  const failed = events?.findIndex((event) => event.activityTaskFailedEventAttributes) ?? -1;
  const after = events?.slice(failed) ?? [];
  const nextTimer = after.findIndex((event) => event.timerStartedEventAttributes);
  const nextTry = after.findIndex((event) => event.activityTaskScheduledEventAttributes);
  expect(failed).toBeGreaterThan(0);
  expect(nextTimer).toBeGreaterThan(0);
  expect(nextTimer).toBeLessThan(nextTry); // it pauses, and does not try at once
});

test('a process that somebody else has begun is not begun again, whoever says that it was not', async ({ mayfly }) => {
  const spec = { command: 'true', argv: null, cwd: null, user: null, envNames: [], stdinOpen: false };
  const whole = { ...spec, timeoutSeconds: 1, maxOutputBytes: 1 };
  const run = await triggerArmed('true', {}, async ({ runId, sandboxId }) => {
    const place = { id: sandboxId, ...mayfly.hostRef };
    const command = requestedCommand(attemptIds(runId, 1).commandId, place, whole, RECONCILER);
    await mayfly.store.commands.create({ ...command, state: 'running' });
    mayfly.arm('placeRunFiles.before=error', runId);
  });
  const { sandboxId } = attemptIds(run.id, 1);
  expect(await functions().over(run)).toMatchObject({ outcome: 'unknown', attempts: [{ n: 1, sandboxId }] });
});

test('a dead letter is redriven on what was deployed since, and its process is told whose event it has', async () => {
  const name = await functions().deploy('exit 1');
  const dead = await functions().run(name, { n: 1 });
  await functions().deployAs(name, 'cat > "$MAYFLY_RESULT"; echo "of $MAYFLY_REPLAY_OF"');
  await letTimePass(1_000); // the version before is accepted as long as it is cached, and a redrive is accepted once
  const { id } = (await (await door().call('POST', `/v1/runs/${dead.id}/redrive`)).json()) as Run;
  const run = await functions().over({ id });
  expect(run).toMatchObject({ outcome: 'succeeded', version: 2, replayOf: dead.id, cleanup: 'proved' });
  expect(await functions().output(id)).toBe(`of ${dead.id}\n`);
  expect(await (await functions().result(id)).json()).toMatchObject({ data: { n: 1 } });
  const events = await (await door().call('GET', `/v1/runs/${id}/events`)).text();
  expect(events).toContain('"cleanup":"proved"');
});

test('a function that is deleted lets its runs end first, or is not deleted (case 28)', async () => {
  const name = await functions().deploy(SLEEPS);
  const run = await functions().trigger(name);
  await functions().until(run.id, isRunning);
  expect(await functions().delete(name)).toBe(409);
  expect(await functions().delete(name, '?drain=true')).toBe(202);
  expect((await functions().post(name, {})).status).toBeOneOf([202, 409]); // as it was a second ago
  await functions().cancel(run.id);
  await functions().over(run);
});
