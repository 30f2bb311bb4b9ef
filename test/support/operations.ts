import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { GUEST_USER } from '../../host/simulated/machine/image.ts';
import type { PresentSnapshot } from '../../host/snapshots.ts';
import { ID_BYTES, operationIdFrom, snapshotIdFrom } from '../../model/ids.ts';
import type { Operation } from '../../model/sagas/messages.ts';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { Actor, SandboxFailure } from '../../model/sandbox/sandbox.ts';
import type { SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { TestDoor } from './door.ts';
import type { TestMayfly } from './mayfly.ts';
import { stepBegun } from './step-begun.ts';
import { HANGS_AFTER_MS, TEST_TIMEOUTS } from './test-timeouts.ts';
import { useOpened } from './use-opened.ts';

const actor = { apiKeyId: 'test', agentId: null, project: 'default' };

type OperatedMayfly = Pick<TestMayfly, 'sagas' | 'store' | 'client' | 'config' | 'memory' | 'onHost'>;

/** Operations on live sandboxes, and their observable effects in the guest and on the host. */
export class TestOperations {
  /** @param entrance null: a host in memory has no reachable guests */
  constructor(
    private readonly mayfly: OperatedMayfly,
    private readonly entrance: TestDoor | null,
  ) {}

  get door(): TestDoor {
    if (this.entrance) return this.entrance;
    throw new Error('guests in memory run no commands');
  }

  /** Starts a snapshot. @returns its id */
  async beginSnapshot(sandboxId: string, name?: string, by: Actor = actor): Promise<string> {
    const id = snapshotIdFrom(randomBytes(ID_BYTES));
    const wish = { kind: 'snapshot', operationId: id, name: name ?? id, snapshotKind: 'disk' } as const;
    await this.begin(sandboxId, { ...wish, actor: by });
    return id;
  }

  /** Takes a snapshot, and waits for its success or failure. */
  async snapshot(sandboxId: string, name?: string, by: Actor = actor): Promise<SnapshotRecord> {
    const id = await this.beginSnapshot(sandboxId, name, by);
    const failure = await this.ended(sandboxId, id);
    const record = await this.record(id);
    expect(failure).toEqual(record.failure);
    return record;
  }

  async beginRestore(
    sandboxId: string,
    snapshotId: string,
    keep: boolean,
  ): Promise<{ operationId: string; keepAs: string | null }> {
    const operationId = operationIdFrom(randomBytes(ID_BYTES));
    const keepAs = keep ? snapshotIdFrom(randomBytes(ID_BYTES)) : null;
    await this.begin(sandboxId, { kind: 'restore', operationId, snapshotId, keepAs, actor });
    return { operationId, keepAs };
  }

  /** Restores to the end. @returns its failure and the retained snapshot */
  async restore(
    sandboxId: string,
    snapshotId: string,
    { keep = true } = {},
  ): Promise<{ failure: SandboxFailure | null; kept: SnapshotRecord | null }> {
    const { operationId, keepAs } = await this.beginRestore(sandboxId, snapshotId, keep);
    const failure = await this.ended(sandboxId, operationId);
    return { failure, kept: keepAs === null ? null : await this.mayfly.store.snapshots.get(keepAs) };
  }

  async beginPause(sandboxId: string, kind: 'pause' | 'hibernate' | 'resume'): Promise<string> {
    const operationId = operationIdFrom(randomBytes(ID_BYTES));
    await this.begin(sandboxId, { kind, operationId, actor });
    return operationId;
  }

  async pause(sandboxId: string): Promise<SandboxFailure | null> {
    return this.ended(sandboxId, await this.beginPause(sandboxId, 'pause'));
  }

  async hibernate(sandboxId: string): Promise<SandboxFailure | null> {
    return this.ended(sandboxId, await this.beginPause(sandboxId, 'hibernate'));
  }

  async resume(sandboxId: string): Promise<SandboxFailure | null> {
    return this.ended(sandboxId, await this.beginPause(sandboxId, 'resume'));
  }

  async begin(sandboxId: string, operation: Operation): Promise<void> {
    await this.mayfly.sagas.sandboxes.operate(sandboxId, operation);
  }

  async ended(sandboxId: string, operationId: string): Promise<SandboxFailure | null> {
    return this.mayfly.sagas.sandboxes.operated(sandboxId, operationId, AbortSignal.timeout(HANGS_AFTER_MS));
  }

  async beginDelete({ id, hostId, installationId }: SnapshotRecord): Promise<void> {
    await this.mayfly.sagas.snapshots.delete({
      snapshotId: id,
      hostId,
      installationId,
      actor,
      timeouts: TEST_TIMEOUTS,
    });
  }

  async delete(snapshot: SnapshotRecord): Promise<SnapshotRecord> {
    await this.beginDelete(snapshot);
    await this.mayfly.sagas.snapshots.deleted(snapshot.id, AbortSignal.timeout(HANGS_AFTER_MS));
    return this.record(snapshot.id);
  }

  async record(snapshotId: string): Promise<SnapshotRecord> {
    const record = await this.mayfly.store.snapshots.get(snapshotId);
    if (!record) throw new Error(`the store has no record of ${snapshotId}`);
    return record;
  }

  /** Writes in the guest by its agent, whose answer shows that it is not frozen. */
  async write(sandboxId: string, text: string): Promise<void> {
    if (this.mayfly.memory) return this.mayfly.memory.write(sandboxId, 'note', text);
    expect(await this.sh(sandboxId, `printf %s '${text}' > ~/note`)).toBe('');
  }

  async read(sandboxId: string): Promise<string | null> {
    if (this.mayfly.memory) return this.mayfly.memory.read(sandboxId, 'note');
    return this.sh(sandboxId, 'cat ~/note');
  }

  /** Runs a command in the guest. @returns its output */
  async sh(sandboxId: string, command: string): Promise<string> {
    const ended = await this.door.run(sandboxId, { command });
    const { outcome, exitCode } = ended;
    expect({ outcome, exitCode }).toEqual({ outcome: 'exited', exitCode: 0 });
    return this.door.text(ended);
  }

  /** Reads a file in the home of a simulated guest directly from disk. */
  async onDisk(sandboxId: string, name: string): Promise<string> {
    const root = join(this.mayfly.config.stateDir, 'sandboxes', sandboxId, 'root');
    return readFile(join(root, 'home', GUEST_USER.name, name), 'utf8');
  }

  /** Polls until a step of the sandbox runs, every 50 ms. */
  async beganStep(sandboxId: string, step: string): Promise<void> {
    await stepBegun(this.mayfly.client.workflow.getHandle(sandboxWorkflowId(sandboxId)), step);
  }

  async onHost(): Promise<PresentSnapshot[]> {
    return this.mayfly.onHost();
  }

  /** Returns the sandbox's audit events, in order. */
  async told(sandboxId: string): Promise<AuditEvent[]> {
    const entries = await this.mayfly.store.audit.entries(sandboxId, { limit: 200 });
    return entries.map(({ body }) => JSON.parse(body) as AuditEvent);
  }

  /** Proves that the host has exactly the `ready` snapshots, deletes them, and proves that none is left. */
  async clear(): Promise<void> {
    for (const { snapshotId, state } of await this.onHost()) {
      const record = await this.record(snapshotId);
      expect({ snapshotId, host: state, store: record.state }).toEqual({ snapshotId, host: 'whole', store: 'ready' });
      expect(await this.delete(record)).toMatchObject({ state: 'deleted', keptFor: null });
    }
    expect(await this.onHost()).toEqual([]);
  }

  close(): void {
    this.entrance?.close();
  }
}

/**
 * Provides operations on the sandboxes of a file's {@link TestMayfly}; runs {@link TestOperations.clear} after each
 * test.
 */
export function useOperations(mayfly: () => TestMayfly): () => TestOperations {
  const made = useOpened(
    async () => new TestOperations(mayfly(), await TestDoor.open(mayfly())),
    (operations) => operations.close(),
  );
  afterEach(async () => {
    mayfly().failpoints.arm(undefined);
    await made().clear();
  });
  return made;
}
