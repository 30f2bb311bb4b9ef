import type { PoolRecord } from '../../model/pools/pool.ts';
import { isShared, MEMBER_TTL_SECONDS, type MemberInput } from '../../model/pools/pool-saga.ts';
import { NO_PROJECT } from '../../model/project.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { sandboxWorkflowId } from '../../model/sagas/queues.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf, refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { waitForWorkflow } from '../saga/subscription.ts';
import { startSandbox } from '../source/task-sandbox.ts';
import type { PoolState } from './pool-life.ts';

/** Actor of shared pools, so an audit trail never names another tenant's key. */
const SHARED: Actor = { apiKeyId: 'pool', agentId: null, project: NO_PROJECT };

/** Creation of one pool member: an ordinary sandbox with a workflow of its own, which outlives this one. */
export class MemberCreation {
  /** Id of the member; null: not yet known. */
  sandboxId: string | null = null;

  constructor(private readonly life: PoolState) {}

  /** Creates the member and wakes the pool. Returns when its outcome is known. */
  async run(): Promise<void> {
    const { life } = this;
    life.makers.add(this);
    const began = Date.now();
    try {
      const isReady = await this.#make();
      if (isReady) {
        life.madeSinceFilled++;
        life.refillSeconds = (Date.now() - began) / 1_000;
        if (began > life.preemptedAt) life.failures = [];
      }
    } catch (error) {
      life.failed([failureOf(error, 'memberInput')]);
    } finally {
      life.makers.delete(this);
      life.ring();
    }
  }

  /** @returns true when it can be claimed; false when the pool no longer wanted it */
  async #make(): Promise<boolean> {
    const pool = this.life.record;
    const seed = this.life.nextSeed();
    const member = await control.memberInput({ pool, seed });
    if (this.life.isDeleting || pool.revision !== this.life.record.revision) return false;
    const { sandboxId } = member;
    this.sandboxId = sandboxId;
    const { timeouts } = this.life.input;
    const child = await startSandbox({ ...inputOf(pool, member), ...(timeouts && { timeouts }) });
    const read = () => controlUntilDone.readMemberOutcome({ sandboxId });
    const outcome = await waitForWorkflow({ workflowId: sandboxWorkflowId(sandboxId), child }, read);
    if (typeof outcome === 'string') return outcome === 'warm';
    throw refusal(outcome.code, outcome.message);
  }
}

/**
 * Builds a member's input. Sandboxes that wake from one template share memory, which projects must not: members of
 * shared pools boot.
 */
function inputOf(pool: PoolRecord, { sandboxId, size, hosts, content }: MemberInput): SandboxInput {
  const { name, revision, source, cpus, memoryMib, egress } = pool;
  return {
    id: sandboxId,
    spec: {
      source,
      snapshotId: null,
      captureId: null,
      cpus,
      memoryMib,
      ttlSeconds: MEMBER_TTL_SECONDS,
      idleSeconds: null,
      autoResume: false,
      metadata: {},
      agentId: null,
      network: { egress },
      ...(isShared(pool) && { boot: 'cold' }),
    },
    size,
    createdBy: isShared(pool) ? SHARED : pool.createdBy,
    requestedAt: now(),
    begin: 'create',
    pool: { name, revision, content, warmAt: null, claimedBy: null },
    hosts,
    ...(content !== null && { content }),
  };
}
