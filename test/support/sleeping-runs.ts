import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Hypervisor } from '../../host/hypervisor.ts';
import { setIntervalAsync } from '../../host/os/repeating.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { QUEUE_POLL_MS, RunQueuePoller } from '../../worker/upkeep/functions/run-queues.ts';
import { listAuditKinds } from './audit-kinds.ts';
import { useFunctionCases } from './function-cases.ts';
import type { Run } from './functions.ts';
import type { TestMayfly } from './mayfly.ts';
import { letSleep } from './sleeping-host.ts';
import { TestWaitpoints } from './waitpoints.ts';

type RunId = Pick<Run, 'id'>;

/** Polls the queues of runs as the control worker does. @returns a single poll, for explicit use */
export function useRunQueues(mayfly: () => TestMayfly, isRepeated = true): () => Promise<void> {
  const look = async () => {
    await new RunQueuePoller(
      mayfly().store,
      new ControlTemporalClient(mayfly().client),
      pino({ level: 'silent' }),
    ).look();
  };
  let stop = async () => {};
  beforeAll(() => {
    if (isRepeated) stop = setIntervalAsync(look, QUEUE_POLL_MS);
  });
  afterAll(() => stop());
  return look;
}

/**
 * Provides runs at waitpoints, whose machines hibernate after a second. @param isPolled whether their queues are polled
 */
export function useSleepingRuns({ isPolled = true } = {}) {
  const { test, alone, mayfly, ...cases } = useFunctionCases();
  const [door, functions] = [cases.door(), cases.functions()];
  const waitpoints = new TestWaitpoints(door);
  const look = useRunQueues(mayfly, isPolled);
  const asleep = new Set<string>();
  beforeAll(() => {
    const prepare = (hypervisor: Hypervisor) => letSleep(hypervisor, mayfly().failpoints, asleep);
    mayfly().prepareHost = prepare;
    prepare(mayfly().machine().hypervisor);
  });
  const sandboxOf = ({ attempts }: Run) => attempts.at(-1)?.sandboxId ?? '';
  const deploy = (command: string, wait: object = {}, more: object = {}) =>
    functions.deploy(command, { wait: { hibernateAfterSeconds: 1, ...wait }, ...more });

  async function awaitSleep({ id }: RunId): Promise<Run> {
    const run = await functions.until(id, ({ state, waiting }) => state === 'ended' || waiting?.hibernatedAt != null);
    expect(run).toMatchObject({ state: 'running' });
    await mayfly().until(sandboxOf(run), ({ state }) => state === 'hibernated');
    return run;
  }

  async function startSleeping(command = WAITS, wait: object = {}, more: object = {}): Promise<Run> {
    return awaitSleep(await functions.trigger(await deploy(command, wait, more)));
  }

  async function complete(run: RunId, data: unknown = 7, name = 'it'): Promise<void> {
    expect(await waitpoints.complete(await waitpoints.token(run.id, { name }), data)).toEqual({ status: 200 });
  }

  /** Counts hibernations and wakes of a run's machine. */
  async function countSleeps(run: Run): Promise<[number, number]> {
    const kinds = await listAuditKinds(mayfly(), sandboxOf(run));
    const count = (wanted: string) => kinds.filter((kind) => kind === wanted).length;
    return [count('sandbox.hibernated'), count('sandbox.resumed')];
  }

  /** Asserts that a run of {@link WAITS} ends in its original process. @param data as JSON */
  async function expectResumed(run: RunId, data = '7'): Promise<Run> {
    const over = await functions.over(run);
    expect(over).toMatchObject({ outcome: 'succeeded', cleanup: 'proved', waitingFor: null, attempts: [{ n: 1 }] });
    const [, before, sent, after] = /^before (\d+)\n(.*)\nafter (\d+)\n$/.exec(await functions.output(run.id)) ?? [];
    expect([sent, after]).toEqual([data, before]);
    return over;
  }

  const own = { awaitSleep, startSleeping, complete, countSleeps, expectResumed };
  return { test, alone, mayfly, door, functions, waitpoints, look, asleep, sandboxOf, deploy, ...own };
}

/** Command of a function that waits at the waitpoint `it`, and prints its process before and after. */
export const WAITS = 'echo before $$; "$MAYFLY_WAIT" it; echo after $$';
