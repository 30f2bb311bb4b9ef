import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { deriveSourceId, ID_BYTES, operationIdFrom, sandboxIdFrom } from '../../model/ids.ts';
import type { BakeSourceInput } from '../../model/snapshots/bake-saga.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { listAuditKinds } from './audit-kinds.ts';
import type { MayflyCase } from './mayfly-case.ts';
import { HANGS_AFTER_MS, TEST_TIMEOUTS } from './test-timeouts.ts';

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

/** Sources that one test bakes from one snapshot. */
export class Bakery {
  readonly #names = new Set<string>();

  constructor(
    private readonly mayfly: MayflyCase,
    public snapshot: SnapshotRecord,
  ) {}

  input(name = `baked-${randomBytes(4).toString('hex')}`): BakeSourceInput {
    const { id, sandboxId, source } = this.snapshot;
    const builderId = sandboxIdFrom(randomBytes(ID_BYTES));
    this.#names.add(name);
    this.mayfly.own(builderId);
    return {
      bakeId: operationIdFrom(randomBytes(ID_BYTES)),
      sourceId: deriveSourceId('test', name),
      ...this.mayfly.hostRef,
      name,
      snapshot: { id, sandboxId, source },
      builderId,
      actor,
      requestedAt: new Date().toISOString(),
      timeouts: TEST_TIMEOUTS,
    };
  }

  async recordOf(name: string): Promise<BakedSource> {
    const record = await this.mayfly.store.bakedSources.get(deriveSourceId('test', name));
    if (!record) throw new Error(`nothing is known of ${name}`);
    return record;
  }

  async ended({ hostId, name }: Pick<BakeSourceInput, 'hostId' | 'name'>): Promise<BakedSource> {
    await this.mayfly.sagas.sources.bakeEnded({ hostId, name }, AbortSignal.timeout(HANGS_AFTER_MS));
    return this.recordOf(name);
  }

  async bake(asked: BakeSourceInput): Promise<BakedSource> {
    await this.mayfly.sagas.sources.bake(asked);
    return this.ended(asked);
  }

  async remove(name: string): Promise<BakedSource> {
    const sourceId = deriveSourceId('test', name);
    await this.mayfly.sagas.sources.delete({ sourceId, ...this.mayfly.hostRef, name, actor, timeouts: TEST_TIMEOUTS });
    return this.ended({ hostId: 'test', name });
  }

  /** Returns the host's sources as stored for placement. */
  async listed(): Promise<string[]> {
    return (await this.mayfly.store.hosts.list())[0]?.sources.map(({ name }) => name) ?? [];
  }

  audit(name: string): Promise<string[]> {
    return listAuditKinds(this.mayfly, deriveSourceId('test', name));
  }

  /** Reports whether a source of that name belongs to this test. */
  isMade(name: string): boolean {
    return this.#names.has(name) && name.startsWith('baked-');
  }

  /** Deletes existing sources of this test, which must be complete. */
  async clear(names: readonly string[]): Promise<void> {
    for (const name of names) {
      expect(await this.recordOf(name)).toMatchObject({ state: 'ready' });
      expect(await this.remove(name)).toMatchObject({ state: 'deleted', image: null, failure: null });
    }
  }
}
