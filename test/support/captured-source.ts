import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { captureIdFrom, deriveSourceId, ID_BYTES } from '../../model/ids.ts';
import type { CaptureRecord } from '../../model/snapshots/capture.ts';
import { type CaptureInput, captureWorkflowId } from '../../model/snapshots/capture-saga.ts';
import { listAuditKinds } from './audit-kinds.ts';
import { eventually } from './eventually.ts';
import type { MayflyCase } from './mayfly-case.ts';
import { HANGS_AFTER_MS, TEST_TIMEOUTS } from './test-timeouts.ts';

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

/** Running source of one test, and its captures. */
export class CapturedSource {
  readonly name = `server-${randomBytes(4).toString('hex')}`;
  readonly id = deriveSourceId('test', this.name);
  readonly workflowId = captureWorkflowId({ hostId: 'test', source: this.name });
  readonly #captureIds = new Set<string>();

  constructor(private readonly mayfly: MayflyCase) {}

  /** Returns the id of a future capture, for which faults can be armed. */
  newId(): string {
    const captureId = captureIdFrom(randomBytes(ID_BYTES));
    this.#captureIds.add(captureId);
    return captureId;
  }

  async begin(task: CaptureInput['task'], captureId = this.newId()): Promise<string> {
    const { name: source, id: sourceId } = this;
    const at = new Date().toISOString();
    const timeouts = TEST_TIMEOUTS;
    const input = { captureId, sourceId, ...this.mayfly.hostRef, source, actor, at, timeouts };
    const whose = { projects: [actor.project], allowedEgress: 'internet' as const };
    await this.mayfly.sagas.captures.begin(task === 'create' ? { task, ...input, ...whose } : { task, ...input });
    return captureId;
  }

  async recordOf(captureId: string): Promise<CaptureRecord> {
    const record = await this.mayfly.store.captures.get(captureId);
    if (!record) throw new Error(`nothing is known of ${captureId}`);
    return record;
  }

  async ended(captureId: string): Promise<CaptureRecord> {
    await this.mayfly.sagas.captures.ended({ hostId: 'test', source: this.name }, AbortSignal.timeout(HANGS_AFTER_MS));
    return this.recordOf(captureId);
  }

  async taken(captureId?: string): Promise<CaptureRecord> {
    return this.ended(await this.begin('create', captureId));
  }

  /** Returns its captures on the host: `half` until one has its final name. */
  async onHost(): Promise<{ captureId: string; state: 'whole' | 'half' }[]> {
    const present = (await this.mayfly.host?.machine.hypervisor.captures.list()) ?? [];
    return present.filter(({ captureId }) => this.#captureIds.has(captureId));
  }

  /** Returns its captures with a reservation on the host. */
  async reserved(): Promise<string[]> {
    const { host } = this.mayfly;
    if (!host) throw new Error('there is no host to look at');
    const looks = await Promise.all([...this.#captureIds].map((id) => host.machine.ledger.look(id)));
    return looks.flatMap(({ absent, found = '' }) => (absent ? [] : [found]));
  }

  audit(): Promise<string[]> {
    return listAuditKinds(this.mayfly, this.id);
  }

  /** Resolves when the record of a capture waits for a step. */
  async waitsFor(captureId: string, step: string): Promise<void> {
    const look = async () => (await this.mayfly.store.captures.get(captureId))?.waitingFor;
    await eventually(look, (waitingFor) => waitingFor?.includes(step) ?? false);
  }

  /** Deletes ready captures, and asserts that the host has none left. */
  async clear(): Promise<void> {
    for (const id of this.#captureIds) {
      if ((await this.mayfly.store.captures.get(id))?.state === 'ready')
        await this.ended(await this.begin('delete', id));
    }
    expect(await this.onHost()).toEqual([]);
    expect(await this.reserved()).toEqual([]);
  }
}

export function expectFailed(record: CaptureRecord, step: string, code = 'fault_injected'): void {
  expect(record).toMatchObject({ state: 'failed', saved: null, failure: { step, code }, waitingFor: null });
}
