import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { SimulatedHypervisor } from '../../host/simulated/driver.ts';
import { sourceIdOf } from '../../model/ids.ts';
import type { SourceAccess, SourceTask } from '../../model/snapshots/source-access.ts';
import { describeTree } from '../host/source/tree-digest.ts';
import { eventually } from '../support/eventually.ts';
import type { MayflyCase } from '../support/mayfly-case.ts';
import { useSagaCases } from '../support/saga-cases.ts';
import { SAGA_POINTS } from '../support/saga-points.ts';
import { sweepOn } from '../support/sweep.ts';
import { TEST_TIMEOUTS } from '../support/test-timeouts.ts';

const {
  steps: STEPS,
  undos: [{ steps: UNDOS }],
} = SAGA_POINTS.prepare;
const FAULTS = STEPS.flatMap((step) => (['before', 'after'] as const).map((where) => [step, where] as const));

/** A running source of a simulated host, which one test has to itself. */
class TestSource {
  readonly name = `server-${randomBytes(4).toString('hex')}`;
  readonly id = sourceIdOf('test', this.name);
  readonly hostId = 'test';

  constructor(private readonly mayfly: MayflyCase) {}

  get hypervisor(): SimulatedHypervisor {
    return this.mayfly.host?.machine.hypervisor as SimulatedHypervisor;
  }

  async boot(): Promise<void> {
    await this.hypervisor.runningSources.make(this.name);
    await this.hypervisor.runningSources.start(this.name);
  }

  async stop(): Promise<void> {
    await this.hypervisor.runningSources.stop(this.name);
  }

  arm(text: string | undefined): void {
    this.mayfly.arm(text, this.id);
  }

  async begin(task: SourceTask): Promise<void> {
    const actor = { apiKeyId: 'test', agentId: null };
    const { id: sourceId, name } = this;
    await this.mayfly.sagas.sourceTask({
      task,
      sourceId,
      ...this.mayfly.hostRef,
      name,
      actor,
      timeouts: TEST_TIMEOUTS,
    });
  }

  async end(): Promise<SourceAccess> {
    const { name } = this;
    await this.mayfly.sagas.sourceTaskEnded({ hostId: 'test', name }, AbortSignal.timeout(60_000));
    const record = await this.record();
    if (!record) throw new Error(`nothing is known of ${name}`);
    return record;
  }

  record(): Promise<SourceAccess | null> {
    return this.mayfly.store.sources.get(this.id);
  }

  async done(task: SourceTask): Promise<SourceAccess> {
    await this.begin(task);
    return this.end();
  }

  async tree(): Promise<string[]> {
    const folder = join(this.mayfly.config.stateDir, 'images', this.name);
    const parts = ['root/etc', 'root/var', 'local-lib'].map((part) => describeTree(join(folder, part)));
    return (await Promise.all(parts)).flat();
  }

  async audit(): Promise<string[]> {
    const entries = await this.mayfly.store.audit.entries(this.id, { limit: 100 });
    return entries.map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
  }
}

const test = useSagaCases().alone.extend<{ source: TestSource }>({
  source: async ({ mayfly }, use) => {
    const source = new TestSource(mayfly);
    await source.boot();
    await use(source);
    await source.stop();
  },
});

const sweep = sweepOn(test);

describe.concurrent('a source', () => {
  test('is prepared, cannot be cloned while it runs, and is as it was when that is taken back', async ({
    mayfly,
    source,
  }) => {
    const before = await source.tree();
    const prepared = await source.done('prepare');
    expect(prepared).toMatchObject({
      state: 'prepared',
      failure: null,
      waitingFor: null,
      preparedBy: { apiKeyId: 'test' },
    });
    expect(prepared.sshd?.hostKey).toMatch(/^ssh-ed25519 /);
    expect(prepared.changes.length).toBe(5);
    const request = {
      sandboxId: mayfly.input().id,
      source: source.name,
      snapshotId: null,
      cpus: null,
      memoryMib: null,
      egress: 'none' as const,
    };
    const context = { signal: AbortSignal.timeout(10_000), alive: () => {} };
    await expect(source.hypervisor.cloneDisk({ ...request, userCaKeys: [] }, context)).rejects.toMatchObject({
      code: 'source_running',
    });

    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared', changes: [], preparedAt: null });
    expect(await source.tree()).toEqual(before);
    expect(await source.audit()).toEqual(['certificate.issued', 'source.prepared', 'source.unprepared']);
    expect((await mayfly.store.audit.verify(source.id)).problems).toEqual([]);
  });

  sweep(FAULTS)(
    '%s fails %s its effect: the source is as it was, and the reason is told',
    async ([step, where], { source }) => {
      const before = await source.tree();
      source.arm(`${step}.${where}=error`);
      const record = await source.done('prepare');
      expect(record).toMatchObject({
        state: 'unprepared',
        failure: { step, code: 'fault_injected' },
        waitingFor: null,
      });
      expect(await source.tree()).toEqual(before);
      source.arm(undefined);
      expect(await source.done('prepare')).toMatchObject({ state: 'prepared', failure: null });
    },
  );

  sweep(STEPS)(
    'pra-006: a worker that dies in %s is followed by one that goes on, without anything twice',
    async (step, { source }) => {
      await source.done('prepare');
      const prepared = await source.tree();
      await source.done('unprepare');
      // Retryable: done, and then done again, as by the worker after the one that died before it could say so.
      source.arm(`${step}.after=2*error(host_unavailable)`);
      expect(await source.done('prepare')).toMatchObject({ state: 'prepared', failure: null });
      expect(await source.tree()).toEqual(prepared);
    },
  );

  sweep(UNDOS)('is undone by %s, which is repeated until it holds', async (step, { source }) => {
    const before = await source.tree();
    await source.done('prepare');
    source.arm(`${step}.before=error`);
    await source.begin('unprepare');
    await eventually(
      () => source.record(),
      (record) => record?.waitingFor?.includes(step) ?? false,
    );
    source.arm(undefined);
    expect(await source.end()).toMatchObject({ state: 'unprepared', waitingFor: null });
    expect(await source.tree()).toEqual(before);
  });

  test('has one task at a time: the other is refused, and the same is joined', async ({ source }) => {
    source.arm('createReader.before=1*delay(2000)');
    await source.begin('prepare');
    await expect(source.begin('unprepare')).rejects.toMatchObject({ code: 'too_many_requests' });
    await source.begin('prepare');
    expect(await source.end()).toMatchObject({ state: 'prepared' });
  });

  test('that does not run is told so, and nothing is changed', async ({ source }) => {
    await source.stop();
    expect(await source.done('prepare')).toMatchObject({
      state: 'unprepared',
      failure: { code: 'source_not_running', step: 'inspectSource' },
    });
  });

  test('of which preparing was refused has nothing to take back, and is not waited for', async ({ source }) => {
    await source.stop();
    await source.done('prepare');
    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared', failure: null, waitingFor: null });
    expect(await source.audit()).toEqual(['source.prepare-failed', 'source.unprepared']);
  });

  test('that is prepared without our record knowing of it is unprepared all the same', async ({ mayfly, source }) => {
    const before = await source.tree();
    await source.done('prepare');
    const { id, hostId, name } = source;
    await mayfly.store.sources.change({ id, hostId, name }, { state: 'unprepared', changes: [], preparedAt: null });
    expect(await source.done('unprepare')).toMatchObject({ state: 'unprepared' });
    expect(await source.tree()).toEqual(before);
  });
});
