import { WithStartWorkflowOperation } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import type { PoolClaims } from '../../model/pools/pool.ts';
import {
  DELETE_POOL,
  POOL_PREEMPTED,
  POOL_USED,
  POOL_WORKFLOW,
  type PoolInput,
  type PoolOrder,
  type PreemptionReason,
  poolWorkflowId,
  SET_POOL,
} from '../../model/pools/pool-saga.ts';
import { CLAIM, type ClaimRequest, RETIRE } from '../../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { markReadable } from '../../model/sagas/readable.ts';
import type { Actor, Membership } from '../../model/sandbox/sandbox.ts';
import { throwMapped } from '../call/failure.ts';
import { JOIN_OR_RESTART, WorkflowClient } from '../call/workflow-client.ts';

/** Member to evict. */
export interface Victim {
  id: string;
  project: string;
  pool: Pick<Membership, 'name'>;
}

type PoolRef = Pick<PoolInput, 'project' | 'name'>;
type PoolWorkflow = (input: PoolInput) => Promise<void>;

/** Deadline of one claim attempt, which probes a guest, ms. */
const CLAIM_ONCE_MS = 10_000;
/** Time for which a claim is retried, ms, as long as a create is awaited: a late claim may still be granted. */
const CLAIM_MS = 60_000;

/** Client of the workflows of pools, and of claims on their members. */
export class PoolWorkflows extends WorkflowClient {
  /**
   * Creates or changes a pool. Resolves when that is in effect: members of an earlier setting cannot be claimed then.
   * @throws MayflyError too_many_requests while it is being deleted
   */
  async set(input: PoolInput): Promise<void> {
    const options = { ...startOptions(input), ...JOIN_OR_RESTART, taskQueue: CONTROL_QUEUE };
    const startWorkflowOperation = new WithStartWorkflowOperation<PoolWorkflow>(POOL_WORKFLOW, options);
    startWorkflowOperation.workflowHandle().catch(() => {});
    const { wish, actor } = input;
    const args: [PoolOrder] = [{ wish, actor }];
    await this.calls.call(() =>
      this.client.workflow.executeUpdateWithStart<PoolWorkflow, void, [PoolOrder]>(SET_POOL, {
        startWorkflowOperation,
        args,
      }),
    );
  }

  /** Requests the end of a pool and its members. Resolves when Temporal has it. */
  async delete(input: PoolInput, actor: Actor): Promise<void> {
    await this.signalWithStart(POOL_WORKFLOW, startOptions({ ...input, isResumed: true }), DELETE_POOL, actor);
  }

  /** Resolves when the pool is deleted. @throws the signal's reason when it fires first */
  async deleted(pool: PoolRef, signal: AbortSignal): Promise<void> {
    await this.result(poolWorkflowId(pool), signal);
  }

  /** Starts a workflow for an existing pool, unless one runs. */
  async resume(input: PoolInput): Promise<void> {
    await this.startUnlessRunning(POOL_WORKFLOW, startOptions({ ...input, isResumed: true }));
  }

  /** Notifies a pool of the number of creates that might have used a member. */
  async used(pool: PoolRef, claims: PoolClaims): Promise<void> {
    await this.signal(poolWorkflowId(pool), POOL_USED, claims);
  }

  /**
   * Claims a member of a pool. Resolves when the store has it; a repeated request gets the same answer.
   * @throws MayflyError sandbox_busy, sandbox_ended, sandbox_not_running when it cannot be claimed; name_taken
   */
  async claim(sandboxId: string, request: ClaimRequest): Promise<void> {
    const late = AbortSignal.timeout(CLAIM_MS);
    try {
      await this.calls.wait(late, () => this.#claim(sandboxId, request));
    } catch (error) {
      if (!late.aborted) throw error;
      const why = `${sandboxId} has not said whether it is claimed.`;
      throw new MayflyError('temporal_unavailable', why, { cause: error, retryAfterSeconds: 2, mayHaveBegun: true });
    }
  }

  /**
   * As {@link claim}, in one attempt. @throws MayflyError for a refusal; temporal_unavailable when it may be granted
   */
  async claimOnce(sandboxId: string, request: ClaimRequest): Promise<void> {
    try {
      await this.client.withDeadline(Date.now() + CLAIM_ONCE_MS, () => this.#claim(sandboxId, request));
    } catch (error) {
      throwMapped(error);
      throw error;
    }
  }

  #claim(sandboxId: string, request: ClaimRequest): Promise<void> {
    return this.askOpen(sandboxId, CLAIM, [request], `${CLAIM}/${request.requestId}`);
  }

  /** Retires a member, unless it is claimed. @returns false when it is claimed; true also without a workflow */
  async retire(sandboxId: string): Promise<boolean> {
    return (await this.unlessGone(() => this.ask<boolean>(sandboxId, RETIRE))) ?? true;
  }

  /**
   * Evicts members, unless they are claimed. Their pools pause refills, so that the request gets the room.
   * @returns those that end, or have no workflow
   */
  async evict(members: readonly Victim[], why: PreemptionReason): Promise<string[]> {
    const pools = new Set(members.map(({ project, pool }) => poolWorkflowId({ project, name: pool.name })));
    await Promise.all([...pools].map((workflowId) => this.signal(workflowId, POOL_PREEMPTED, why)));
    const ending = await Promise.all(members.map(async ({ id }) => ((await this.retire(id)) ? [id] : [])));
    return ending.flat();
  }
}

function startOptions(input: PoolInput) {
  const { project, name, wish, actor } = input;
  return {
    workflowId: poolWorkflowId(input),
    args: [input] as [PoolInput],
    staticSummary: markReadable(`the pool ${name} of ${project}, from ${wish.source}`),
    staticDetails: `Asked for by API key ${actor.apiKeyId}`,
  };
}
