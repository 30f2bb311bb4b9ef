import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { deriveSourceId } from '../../../model/ids.ts';
import type { Timeouts } from '../../../model/sandbox/timeouts.ts';
import {
  type SourcePowerOutcome,
  type SourcePowerTask,
  sourcePowerWorkflowId,
} from '../../../model/snapshots/source-power.ts';
import { eventually } from '../../support/eventually.ts';
import { INTERVENTIONS, intervene } from '../../support/interventions.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { SimulatedSource } from '../../support/source-cases.ts';
import { stepBegun } from '../../support/step-begun.ts';
import { sweepOn } from '../../support/sweep.ts';
import { TEST_TIMEOUTS } from '../../support/test-timeouts.ts';

const FAULTS = (['start', 'stop'] as const).flatMap((task) =>
  (['before', 'during', 'after'] as const).map((where) => [task, where] as const),
);
const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

/** A {@link SimulatedSource} that is shut off. */
class StoppedSource extends SimulatedSource {
  get root(): string {
    return join(this.mayfly.config.stateDir, 'images', this.name, 'root');
  }

  async begin(task: SourcePowerTask, { force = false, ...changed }: Partial<Timeouts> & { force?: boolean } = {}) {
    const { id: sourceId, name } = this;
    const timeouts = { ...TEST_TIMEOUTS, ...changed };
    await this.mayfly.sagas.sources.beginPower({
      task,
      sourceId,
      ...this.mayfly.hostRef,
      name,
      force,
      actor,
      timeouts,
    });
  }

  end(): Promise<SourcePowerOutcome | undefined> {
    return this.mayfly.sagas.sources.powerEnded({ hostId: 'test', name: this.name }, AbortSignal.timeout(60_000));
  }

  async done(...asked: Parameters<StoppedSource['begin']>): Promise<SourcePowerOutcome | undefined> {
    await this.begin(...asked);
    return this.end();
  }

  isRunning(): Promise<boolean> {
    return this.hypervisor.runningSources.isRunning(this.name);
  }

  /** Process ids, ascending: the first is the init process. */
  async processes(): Promise<number[]> {
    return [...(await this.hypervisor.runningSources.processesOf(this.name))].sort((a, b) => a - b);
  }

  async said(): Promise<string[]> {
    return (await this.audit()).map((kind) => kind.replace('source.', ''));
  }
}

const test = useSagaCases().alone.extend<{ source: StoppedSource }>({
  source: async ({ mayfly }, use) => {
    const source = new StoppedSource(mayfly);
    await source.hypervisor.runningSources.make(source.name);
    await eventually(
      async () => (await mayfly.store.hosts.list()).flatMap(({ sources }) => sources.map(({ name }) => name)),
      (names) => names.includes(source.name),
    );
    await use(source);
    source.arm(undefined);
    await source.hypervisor.runningSources.stop(source.name);
  },
});
const sweep = sweepOn(test);

describe.concurrent('a source that is shut off', () => {
  test('is started once, cannot be cloned while it runs, and is shut down', async ({ mayfly, source }) => {
    const running = { failure: null, guestAnswers: true };
    expect(await source.done('start')).toEqual(running);
    const processes = await source.processes();
    expect(await source.done('start')).toEqual(running);
    expect(await source.processes()).toEqual(processes);
    expect(await mayfly.create(mayfly.input({ source: source.name }))).toMatchObject({
      state: 'failed',
      failure: { code: 'source_running' },
    });
    for (let twice = 0; twice < 2; twice++) {
      expect(await source.done('stop')).toEqual({ failure: null, guestAnswers: null });
    }
    // its host has reported the stop by now, so no older report refuses the create
    expect(await mayfly.create(mayfly.input({ source: source.name }))).toMatchObject({ state: 'running' });
    const tasks = ['starting', 'started', 'starting', 'started', 'stopping', 'stopped', 'stopping', 'stopped'];
    expect(await source.said()).toEqual(tasks);
    expect((await mayfly.store.audit.verify(source.id)).problems).toEqual([]);
  });

  sweep(INTERVENTIONS)(
    'can be started after an operator intervened in its start: %s',
    async (kind, { mayfly, source }) => {
      const workflowId = sourcePowerWorkflowId({ hostId: 'test', name: source.name });
      source.arm('startSource.before=1*hang');
      await source.begin('start');
      await stepBegun(mayfly.client.workflow.getHandle(workflowId), 'startSource');
      await intervene(mayfly.client, workflowId, kind);
      if (kind.startsWith('cancel')) {
        expect(await source.end()).toMatchObject({ failure: { code: 'workflow_cancelled' } });
      }
      expect(await source.done('start')).toEqual({ failure: null, guestAnswers: true });
      expect(await source.isRunning()).toBe(true);
      expect((await mayfly.store.audit.verify(source.id)).problems).toEqual([]);
    },
  );

  test('whose start is not recorded is stopped first', async ({ source }) => {
    await source.done('start');
    const forgotten = await source.processes();
    await rm(join(source.root, '..', 'running.json'));
    expect(await source.done('start')).toMatchObject({ failure: null });
    const now = await source.processes();
    expect(now.filter((pid) => forgotten.includes(pid))).toEqual([]);
    await rm(join(source.root, '..', 'running.json'));
    expect(await source.done('stop')).toMatchObject({ failure: null });
    expect(await source.processes()).toEqual([]);
  });

  test('is not started if it is an image of Mayfly, or missing', async ({ mayfly }) => {
    const wishes = [
      ['golden-debian12', 'source_read_only'],
      ['../images', 'source_not_found'],
    ] as const;
    for (const [name, code] of wishes) {
      const sourceId = deriveSourceId('test', name);
      const input = { sourceId, ...mayfly.hostRef, name, force: false, actor, timeouts: TEST_TIMEOUTS };
      await mayfly.sagas.sources.beginPower({ ...input, task: 'start' });
      const end = await mayfly.sagas.sources.powerEnded(input, AbortSignal.timeout(60_000));
      expect(end).toMatchObject({ failure: { code, message: expect.stringContaining('startSource: ') } });
    }
  });

  test('cannot redirect writes out of its tree at its first boot', async ({ mayfly, source }) => {
    const outside = await mkdtemp(join(mayfly.config.stateDir, 'outside-'));
    await rm(join(source.root, 'etc/ssh'), { recursive: true });
    await symlink(outside, join(source.root, 'etc/ssh'));
    expect(await source.done('start')).toMatchObject({ failure: { code: 'source_start_failed' } });
    expect(await readdir(outside)).toEqual([]);
    await rm(join(source.root, 'etc/ssh'));
    await mkdir(join(source.root, 'etc/ssh'));
    expect(await source.done('start')).toMatchObject({ failure: null });
  });

  sweep(FAULTS)('%s fails %s its effect: it is reported, and a retry works', async ([task, where], { source }) => {
    if (task === 'stop') await source.done('start');
    source.arm(`${task}Source.${where}=error`);
    expect(await source.done(task)).toMatchObject({ failure: { code: 'fault_injected' } });
    expect((await source.said()).at(-1)).toBe(`${task}-failed`);
    source.arm(`${task}Source.${where}=2*error(host_unavailable)`); // as by a worker that died before its report
    expect(await source.done(task)).toMatchObject({ failure: null });
    expect(await source.isRunning()).toBe(task === 'start');
  });

  test('that ignores a stop is reported; a stop in progress can be forced', async ({ source }) => {
    await source.done('start');
    const [init = 0] = await source.processes();
    process.kill(init, 'SIGSTOP');
    const deaf = await source.done('stop', { sourceStopMs: 300 });
    expect(deaf).toMatchObject({ failure: { code: 'source_stop_failed', message: expect.stringContaining('0.3 s') } });
    await source.begin('stop', { sourceStopMs: 600_000 });
    await eventually(
      () => source.said(),
      (said) => said.at(-1) === 'stopping',
    );
    await expect(source.begin('start')).rejects.toMatchObject({ code: 'too_many_requests' });
    expect(await source.done('stop', { force: true })).toEqual({ failure: null, guestAnswers: null });
    expect((await source.said()).slice(-3)).toEqual(['stopping', 'stopping', 'stopped']);
  });

  test('can be started while an unprepare waits for it, but not stopped during a prepare', async ({
    mayfly,
    source,
  }) => {
    const ended = () =>
      mayfly.sagas.sources.taskEnded({ hostId: 'test', name: source.name }, AbortSignal.timeout(60_000));
    await source.done('start');
    source.arm('createReader.before=1*delay(1000)');
    await source.beginAccess('prepare');
    await expect(source.begin('stop')).rejects.toMatchObject({ code: 'source_busy' });
    await ended();
    expect(await source.done('stop')).toMatchObject({ failure: null });
    await source.beginAccess('unprepare');
    await eventually(() => mayfly.store.sources.get(source.id), { waitingFor: /stopped/ });
    expect(await source.done('start')).toMatchObject({ failure: null });
    await ended();
    expect(await mayfly.store.sources.get(source.id)).toMatchObject({ state: 'unprepared', waitingFor: null });
  });
});
