import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import {
  DELETE_POOL,
  type GaveWay,
  POOL_GAVE_WAY,
  POOL_WORKFLOW,
  type PoolInput,
  type PoolOrder,
  poolWorkflowIdOf,
  SET_POOL,
} from '../model/pools/pool.ts';
import { CLAIM, type ClaimRequest, RETIRE } from '../model/sagas/messages.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import type { Membership } from '../model/sandbox/membership.ts';
import type { Actor } from '../model/sandbox/sandbox.ts';
import { ask } from './temporal/ask.ts';
import { isGone } from './temporal/failure.ts';

/** A member that is given up. */
export interface GivenUp {
  id: string;
  project: string;
  pool: Pick<Membership, 'name'>;
}

type PoolWorkflow = (input: PoolInput) => Promise<void>;

/** Returns when the pool goes by it; begins its workflow where none runs. */
export async function setPool(client: Client, input: PoolInput): Promise<void> {
  const startWorkflowOperation = new WithStartWorkflowOperation<PoolWorkflow>(POOL_WORKFLOW, {
    ...startOptions(input),
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
  startWorkflowOperation.workflowHandle().catch(() => {});
  const { wish, actor } = input;
  await client.workflow.executeUpdateWithStart<PoolWorkflow, void, [PoolOrder]>(SET_POOL, {
    startWorkflowOperation,
    args: [{ wish, actor }],
  });
}

/** Returns when Temporal has the wish; begins a workflow for it where none runs. */
export async function deletePool(client: Client, input: PoolInput, actor: Actor): Promise<void> {
  await client.workflow.signalWithStart<PoolWorkflow, [Actor]>(POOL_WORKFLOW, {
    ...startOptions({ ...input, isResumed: true }),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    signal: DELETE_POOL,
    signalArgs: [actor],
  });
}

/** Has a workflow go on with a pool, unless one does. */
export async function resumePool(client: Client, input: PoolInput): Promise<void> {
  await client.workflow.start<PoolWorkflow>(POOL_WORKFLOW, {
    ...startOptions({ ...input, isResumed: true }),
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}

/** Returns when the store has it; the same request again joins the one that is there. @throws MayflyError sandbox_ended */
export async function claimMember(client: Client, sandboxId: string, request: ClaimRequest): Promise<void> {
  const updateId = `${CLAIM}/${request.requestId}`;
  try {
    await ask<void>(client, workflowIdOf(sandboxId), CLAIM, { args: [request], updateId });
  } catch (error) {
    if (!isGone(error)) throw error;
    throw new MayflyError('sandbox_ended', `The saga of ${sandboxId} has ended.`, { cause: error });
  }
}

/** Has a member end, unless it is claimed. @returns whether it does, or has no saga any more */
export async function retireMember(client: Client, sandboxId: string): Promise<boolean> {
  try {
    return await ask<boolean>(client, workflowIdOf(sandboxId), RETIRE, { args: [] });
  } catch (error) {
    if (isGone(error)) return true;
    throw error;
  }
}

/**
 * Has members end for want of room, unless they are claimed; their pools make none for a while, so that what was made free is
 * whose it was made free for.
 * @returns those that end, or have no saga any more
 */
export async function giveWay(client: Client, members: readonly GivenUp[], why: GaveWay): Promise<string[]> {
  const pools = new Set(members.map(({ project, pool }) => poolWorkflowIdOf({ project, name: pool.name })));
  await Promise.all(
    [...pools].map((workflowId) =>
      client.workflow
        .getHandle(workflowId)
        .signal<[GaveWay]>(POOL_GAVE_WAY, why)
        .catch((error: unknown) => {
          if (!isGone(error)) throw error;
        }),
    ),
  );
  const ending = await Promise.all(members.map(async ({ id }) => ((await retireMember(client, id)) ? [id] : [])));
  return ending.flat();
}

function startOptions(input: PoolInput) {
  const { project, name, wish, actor } = input;
  return {
    workflowId: poolWorkflowIdOf(input),
    taskQueue: CONTROL_QUEUE,
    args: [input] as [PoolInput],
    staticSummary: readable(`the pool ${name} of ${project}, from ${wish.source}`),
    staticDetails: `Asked for by API key ${actor.apiKeyId}`,
  };
}
