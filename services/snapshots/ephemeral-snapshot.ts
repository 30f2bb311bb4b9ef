import { randomBytes } from 'node:crypto';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { HostRef } from '../../model/host.ts';
import { ID_BYTES, snapshotIdFrom } from '../../model/ids.ts';
import type { Actor, SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { getHost, isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { SnapshotKind, SnapshotRecord } from '../../model/snapshots/snapshot.ts';
import { actorOf, type IdempotentCall } from '../idempotent-call.ts';
import { requireSandbox, requireSnapshot, type ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';

type Deps = Pick<ServiceDeps, 'store' | 'sagas' | 'logger'>;

/** Limit of the wait, s: a disk snapshot takes less than a second, or half a minute when the guest does not answer. */
const LONGEST_SECONDS = 120;
/** Deadline for its start, ms: half of the time after which its workflow removes it unreleased. */
const START_LIMIT_MS = 300_000;

/** Snapshot of the present state of a sandbox, until {@link EphemeralSnapshot.release}, or for ten minutes. */
export class EphemeralSnapshot {
  private constructor(
    private readonly deps: Deps,
    private readonly id: string,
    readonly record: SnapshotRecord,
  ) {}

  /**
   * @throws MayflyError sandbox_not_found, sandbox_ended, sandbox_not_running, sandbox_busy, snapshot_failed and
   *   similar ones
   */
  static async take(
    deps: Deps,
    sandboxId: string,
    actor: Actor,
    caller: Omit<WaitLimit, 'seconds'>,
  ): Promise<EphemeralSnapshot> {
    const host = requireHost(await requireSandbox(deps, sandboxId));
    const id = snapshotIdFrom(randomBytes(ID_BYTES));
    // Started first: its workflow removes the snapshot even if this process dies.
    await deps.sagas.snapshots.startEphemeral({ snapshotId: id, ...host, actor });
    try {
      const operation = {
        kind: 'snapshot',
        operationId: id,
        name: id,
        snapshotKind: 'disk',
        reason: 'diff',
        notAfter: new Date(Date.now() + START_LIMIT_MS).toISOString(),
        actor,
      } as const;
      await deps.sagas.sandboxes.operate(sandboxId, operation);
      await waitWithin(deps, { ...caller, seconds: LONGEST_SECONDS }, async (signal) => {
        await deps.sagas.sandboxes.operated(sandboxId, id, signal);
      });
      return new EphemeralSnapshot(deps, id, assertReady(await requireSnapshot(deps, id)));
    } catch (error) {
      // Without Temporal the snapshot may still be taken: its workflow removes it after ten minutes.
      if (!isMayflyError(error, 'temporal_unavailable')) await releaseSnapshot(deps, id);
      throw error;
    }
  }

  /** Removes the snapshot. */
  async release(): Promise<void> {
    await releaseSnapshot(this.deps, this.id);
  }
}

async function releaseSnapshot({ sagas, logger }: Deps, snapshotId: string): Promise<void> {
  try {
    await sagas.snapshots.releaseEphemeral(snapshotId);
  } catch (error) {
    logger.warn({ err: error, snapshotId }, 'an ephemeral snapshot could not be released: it expires in some minutes');
  }
}

function requireHost(record: SandboxRecord): HostRef {
  const { id, state } = record;
  if (isFinal(state) || state === 'destroying') {
    throw new MayflyError('sandbox_ended', `${id} is ${state}: it has no present state. Compare two of its snapshots.`);
  }
  const host = getHost(record);
  if (host !== null) return host;
  throw new MayflyError('sandbox_not_running', `The sandbox ${id} is ${state}.`);
}

function assertReady(record: SnapshotRecord): SnapshotRecord {
  const { id, state, failure } = record;
  if (state === 'ready') return record;
  if (failure) throw new MayflyError(failure.code, `${failure.step}: ${failure.message}`);
  throw new MayflyError(
    'snapshot_failed',
    `The present state, as ${id}, was still ${state} after ${LONGEST_SECONDS} s.`,
  );
}

/**
 * Takes a snapshot of a sandbox and waits until it is saved. A retry of the request joins the first one, even after the
 * end of the sandbox.
 * @returns its record at the end of the wait
 * @throws MayflyError sandbox_not_running, sandbox_ended, sandbox_busy, snapshot_unsupported, snapshot_name_taken
 */
export async function takeSnapshot(
  deps: Pick<ServiceDeps, 'store' | 'sagas' | 'logger'>,
  call: IdempotentCall,
  sandboxId: string,
  { name, kind = 'disk' }: { name?: string | undefined; kind?: SnapshotKind | undefined },
  wait: WaitLimit,
): Promise<SnapshotRecord> {
  const { sandboxes } = deps.sagas;
  const { subjectId: operationId, isFresh } = call;
  if (isFresh || !(await deps.store.snapshots.get(operationId))) {
    const actor = actorOf(call);
    const operation = { kind: 'snapshot', operationId, name: name ?? operationId, snapshotKind: kind, actor } as const;
    await sandboxes.operate(sandboxId, operation);
  }
  await waitWithin(deps, wait, async (signal) => {
    await sandboxes.operated(sandboxId, operationId, signal);
  });
  return requireSnapshot(deps, operationId);
}
