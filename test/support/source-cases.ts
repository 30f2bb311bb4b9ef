import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { SimulatedHypervisor } from '../../host/simulated/driver.ts';
import { deriveSourceId } from '../../model/ids.ts';
import type { SourceAccess, SourceTask } from '../../model/snapshots/source-access.ts';
import { describeTree } from '../host/source/tree-digest.ts';
import { listAuditKinds } from './audit-kinds.ts';
import type { MayflyCase } from './mayfly-case.ts';
import { useSagaCases } from './saga-cases.ts';
import { TEST_TIMEOUTS } from './test-timeouts.ts';

/** Source of a simulated host, for one test alone. */
export class SimulatedSource {
  readonly name = `server-${randomBytes(4).toString('hex')}`;
  readonly id = deriveSourceId('test', this.name);
  readonly hostId = 'test';

  constructor(protected readonly mayfly: MayflyCase) {}

  get hypervisor(): SimulatedHypervisor {
    return this.mayfly.host?.machine.hypervisor as SimulatedHypervisor;
  }

  arm(text: string | undefined): void {
    this.mayfly.arm(text, this.id);
  }

  async beginAccess(task: SourceTask): Promise<void> {
    const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
    const { id: sourceId, name } = this;
    await this.mayfly.sagas.sources.beginTask({
      task,
      sourceId,
      ...this.mayfly.hostRef,
      name,
      actor,
      timeouts: TEST_TIMEOUTS,
    });
  }

  audit(): Promise<string[]> {
    return listAuditKinds(this.mayfly, this.id);
  }
}

/** Running {@link SimulatedSource}. */
export class TestSource extends SimulatedSource {
  async boot(): Promise<void> {
    await this.hypervisor.runningSources.make(this.name);
    await this.hypervisor.runningSources.start(this.name);
  }

  async stop(): Promise<void> {
    await this.hypervisor.runningSources.stop(this.name);
  }

  async end(): Promise<SourceAccess> {
    const { name } = this;
    await this.mayfly.sagas.sources.taskEnded({ hostId: 'test', name }, AbortSignal.timeout(60_000));
    const record = await this.record();
    if (!record) throw new Error(`nothing is known of ${name}`);
    return record;
  }

  record(): Promise<SourceAccess | null> {
    return this.mayfly.store.sources.get(this.id);
  }

  async done(task: SourceTask): Promise<SourceAccess> {
    await this.beginAccess(task);
    return this.end();
  }

  async tree(): Promise<string[]> {
    const folder = join(this.mayfly.config.stateDir, 'images', this.name);
    const parts = ['root/etc', 'root/var', 'local-lib'].map((part) => describeTree(join(folder, part)));
    return (await Promise.all(parts)).flat();
  }
}

/** Extends {@link useSagaCases} by a running source for each test. */
export function useSourceCases() {
  return useSagaCases().alone.extend<{ source: TestSource }>({
    source: async ({ mayfly }, use) => {
      const source = new TestSource(mayfly);
      await source.boot();
      await use(source);
      await source.stop();
    },
  });
}
