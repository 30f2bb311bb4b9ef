import { ApplicationFailure } from '@temporalio/common';
import type { ActivityExecuteInput } from '@temporalio/worker';
import { describe, expect, test } from 'vitest';
import { stepContext } from '../../activities/step/step-context.ts';
import { currentStepRunner } from '../../activities/step/step-runner.ts';
import { Failpoints } from '../../host/failpoints.ts';
import { KeyedMutex } from '../../host/os/keyed-mutex.ts';
import { MayflyError } from '../../model/errors.ts';
import { isMultiStepHeartbeat, type MultiStepHeartbeat } from '../../model/sandbox/multi-step.ts';
import { MultiStepInterceptor } from '../../worker/activity-interceptors.ts';
import { eventually } from '../support/eventually.ts';

const TARGET = { sandboxId: 'sbx-0000000000000001', generation: 1 };
const RESERVE = { name: 'reserve', phase: 'placing', withinMs: 5_000, shownAfterMs: 50 } as const;
const CLONE = { name: 'cloneDisk', phase: 'cloning', withinMs: 5_000, shownAfterMs: 50 } as const;

/** Creates the context of an activity attempt, and records its heartbeats and signals. */
function attempt(number: number, heartbeatDetails?: unknown) {
  const beats: MultiStepHeartbeat[] = [];
  const signals: unknown[] = [];
  const context = {
    info: {
      activityType: 'prepare',
      attempt: number,
      heartbeatDetails,
      heartbeatTimeoutMs: 4_000,
      workflowExecution: { workflowId: 'w', runId: 'r' },
    },
    cancellationSignal: new AbortController().signal,
    heartbeat: (detail: unknown) => {
      if (isMultiStepHeartbeat(detail)) beats.push(detail);
    },
    client: {
      workflow: { getHandle: () => ({ signal: async (_name: string, said: unknown) => void signals.push(said) }) },
    },
    log: { warn: () => {} },
  };
  return { context: context as never, beats, signals };
}

function run(
  context: never,
  activity: () => Promise<unknown>,
  { failpoints = '', mutex = new KeyedMutex() } = {},
): Promise<unknown> {
  const interceptor = new MultiStepInterceptor(context, Failpoints.parse(failpoints), mutex);
  return interceptor.execute({ args: [TARGET], headers: {} } as ActivityExecuteInput, activity);
}

async function failureOf(work: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (error instanceof ApplicationFailure) return error;
  throw new Error(`it did not fail as expected: ${String(error)}`);
}

describe('an activity of several steps on a host', () => {
  test('runs its steps in order, and returns their durations', async () => {
    const { context, signals } = attempt(1);
    const steps = await run(context, async () => {
      const runner = currentStepRunner();
      expect(await runner.step(RESERVE, async () => 1)).toBe(1);
      expect(await runner.step(CLONE, async () => 'clone')).toBe('clone');
      return runner.steps;
    });
    expect(steps).toMatchObject([{ step: 'reserve' }, { step: 'cloneDisk' }]);
    expect(signals).toEqual([]); // too short to be shown
  });

  test('resumes after a dead attempt, without repeating its finished steps', async () => {
    const at = '2026-11-22T07:00:00.000Z';
    const done = [{ step: 'reserve', startedAt: at, endedAt: at, result: { granted: 7 } }];
    const { context } = attempt(2, { step: 'cloneDisk', seen: 'running', done });
    const steps = await run(context, async () => {
      const runner = currentStepRunner();
      const reserved = await runner.step(RESERVE, async () => {
        throw new Error('reserved twice');
      });
      expect(reserved).toEqual({ granted: 7 });
      await runner.step(CLONE, async () => 'clone');
      return runner.steps;
    });
    expect(steps).toMatchObject([{ step: 'reserve', startedAt: at, endedAt: at }, { step: 'cloneDisk' }]);
  });

  test.each([
    ['reserve', 1, true],
    ['reserve', 2, false],
    ['cloneDisk', 1, false],
  ])('that fails at %s in attempt %i reports it, and whether nothing was done', async (step, number, isFirst) => {
    const { context } = attempt(number);
    const failure = await failureOf(
      run(
        context,
        async () => {
          const runner = currentStepRunner();
          await runner.step(RESERVE, async () => {});
          await runner.step(CLONE, async () => {});
        },
        { failpoints: `${step}.before=error(capacity_exhausted)` },
      ),
    );
    expect(failure).toMatchObject({ type: 'capacity_exhausted', nonRetryable: true, details: [{ step, isFirst }] });
  });

  test('a failure that a retry may cure stays retryable', async () => {
    const { context } = attempt(1);
    const failure = await failureOf(
      run(context, () => currentStepRunner().step(CLONE, () => Promise.reject(new MayflyError('clone_failed', 'no')))),
    );
    expect(failure).toMatchObject({ type: 'clone_failed', nonRetryable: false });
  });

  test.each([
    ['awaitIp', 'ip_timeout'],
    ['verifySsh', 'ssh_timeout'],
    ['bootDomain', 'step_timeout'],
  ])('times out %s with %s, and the last observation', async (name, code) => {
    const { context } = attempt(1);
    const step = { name, phase: 'booting', withinMs: 20, shownAfterMs: 50 } as const;
    const work = run(context, () =>
      currentStepRunner().step(step, async () => {
        const mine = stepContext();
        mine.alive('no lease yet');
        await new Promise((_resolve, reject) => {
          mine.signal.addEventListener('abort', () => reject(new Error('cut off')));
        });
      }),
    );
    const message = `${name} did not end in time; last seen: no lease yet`;
    expect(await failureOf(work)).toMatchObject({ type: code, message, nonRetryable: true, details: [{ step: name }] });
  });

  test('a step that ignores its timeout is abandoned, but its compensation waits for its real end', async () => {
    const { context } = attempt(1);
    const mutex = new KeyedMutex();
    const order: string[] = [];
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const work = run(
      context,
      async () => {
        const runner = currentStepRunner();
        await runner.step({ ...RESERVE, withinMs: 20 }, async () => {
          await ended;
          order.push('reserve ended');
        });
        await runner.step(CLONE, async () => void order.push('cloneDisk'));
      },
      { mutex },
    );
    expect(await failureOf(work)).toMatchObject({ type: 'step_timeout', details: [{ step: 'reserve' }] });
    const undo = mutex.run(TARGET.sandboxId, 2, new AbortController().signal, async () => void order.push('undo'));
    end();
    await undo;
    expect(order).toEqual(['reserve ended', 'undo']);
  });

  test('reports a slow step, by heartbeat and by signal, with the previous ones', async () => {
    const { context, beats, signals } = attempt(1);
    const told = async () =>
      void (await eventually(
        () => signals.length,
        (count) => count > 0,
      ));
    await run(context, async () => {
      const runner = currentStepRunner();
      await runner.step(RESERVE, async () => {});
      await runner.step(CLONE, told);
    });
    expect(signals).toMatchObject([{ phase: 'cloning', steps: [{ step: 'reserve' }] }]);
    expect(beats.at(-1)).toMatchObject({ step: 'cloneDisk', done: [{ step: 'reserve' }] });
  });

  test('an attempt that is stale before its start has started no step', async () => {
    const mutex = new KeyedMutex();
    await mutex.run(TARGET.sandboxId, 9, new AbortController().signal, async () => {});
    const failure = await failureOf(run(attempt(1).context, async () => 'ran', { mutex }));
    expect(failure).toMatchObject({ type: 'stale_attempt', details: [{ step: '' }] });
  });
});
