import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionStatusName,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { MayflyError } from '../model/errors.ts';
import type { BulkInput } from '../model/functions/bulk.ts';
import type { RunInput } from '../model/functions/run-saga.ts';
import type { SetupRef } from '../model/functions/setup/setup-saga.ts';
import type { ImageInput } from '../model/image/image-saga.ts';
import { type GaveWay, POOL_USED, type PoolClaims, type PoolInput, poolWorkflowIdOf } from '../model/pools/pool.ts';
import { TEMPORAL_OPERATOR } from '../model/sagas/cancellation.ts';
import type { ClaimRequest, HostForgotten, Operation, SandboxInput, StopRequest } from '../model/sagas/messages.ts';
import { DESTROY, RESTORE_RECORD, SANDBOX_WORKFLOW, SEARCH_ATTRIBUTES } from '../model/sagas/messages.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import { RECONCILER } from '../model/sagas/reconcile.ts';
import { COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../model/sandbox/command.ts';
import type { Actor, SandboxFailure } from '../model/sandbox/sandbox.ts';
import type { DeleteSourceInput } from '../model/snapshots/baked-source.ts';
import type { CaptureInput } from '../model/snapshots/capture.ts';
import type { DeleteSnapshotInput } from '../model/snapshots/snapshot.ts';
import type { SourceInput } from '../model/snapshots/source-access.ts';
import type { TemplateInput, TemplateWish } from '../model/templates/template-saga.ts';
import type { DeliveryInput } from '../model/webhooks/delivery-saga.ts';
import {
  cancelRun,
  ensureDispatcher,
  lookAtWaits,
  type RunStart,
  removeSetup,
  startBulk,
  startRun,
  startSetup,
  wakeDispatcher,
} from './functions.ts';
import { deleteSnapshot, operate, operated } from './operations.ts';
import { claimMember, type GivenUp, giveWay, resumePool, retireMember } from './pools.ts';
import { destroySandbox, leaveHost, patchSandbox, takeOverSandbox } from './sandboxes.ts';
import { deleteSource } from './source/bakes.ts';
import { startCapture } from './source/captures.ts';
import { buildImage } from './source/images.ts';
import { startSourceTask } from './source/source-tasks.ts';
import { resumeTemplate, wantTemplate } from './source/templates.ts';
import { isGone, rethrow } from './temporal/failure.ts';
import { waitFor } from './temporal/wait.ts';
import { lookAtDelivery, startDelivery } from './webhooks.ts';

/** A run that is open, as Temporal's list shows it: that follows what happens by some seconds. */
export interface OpenRun {
  sandboxId: string;
  startedAt: Date;
  /** What it last said of itself; null: nothing yet. */
  state: string | null;
  hostId: string | null;
}

/** A claim greets a guest; what takes longer is asked again. Milliseconds. */
const CLAIM_MS = 10_000;

/** Of the list of all open runs of sandboxes. */
const OPEN_SANDBOXES = `WorkflowType = "${SANDBOX_WORKFLOW}" AND ExecutionStatus = "Running"`;

/** What a reconciliation asks Temporal, and has it do. */
export class Reconciliation {
  constructor(private readonly client: Client) {}

  async openSandboxes(): Promise<OpenRun[]> {
    const runs: OpenRun[] = [];
    for await (const { workflowId, startTime, searchAttributes } of this.client.workflow.list({
      query: OPEN_SANDBOXES,
    })) {
      const [, sandboxId] = /^sandbox\/(.*)$/.exec(workflowId) ?? [];
      if (sandboxId === undefined) continue;
      const said = (name: string) => searchAttributes[name]?.map(String)[0] ?? null;
      const [state, hostId] = [said(SEARCH_ATTRIBUTES.state), said(SEARCH_ATTRIBUTES.host)];
      runs.push({ sandboxId, startedAt: startTime, state, hostId });
    }
    return runs;
  }

  /** Whether a workflow of that id runs now; other than the list, this is never behind. */
  async isOpen(workflowId: string): Promise<boolean> {
    return (await this.#statusOf(workflowId)) === 'RUNNING';
  }

  /** @returns null when Temporal does not know it */
  async #statusOf(workflowId: string): Promise<WorkflowExecutionStatusName | null> {
    try {
      return (await this.client.workflow.getHandle(workflowId).describe()).status.name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    }
  }

  isSandboxOpen(sandboxId: string): Promise<boolean> {
    return this.isOpen(workflowIdOf(sandboxId));
  }

  /** Starts a workflow that is gone; one that an operator has terminated is cancelled then, which is its orderly end. */
  async resume(workflowId: string, start: () => Promise<unknown>): Promise<void> {
    const wasTerminated = (await this.#statusOf(workflowId)) === 'TERMINATED';
    await start();
    if (wasTerminated) await this.client.workflow.getHandle(workflowId).cancel();
  }

  /** Destroys a sandbox whose workflow an operator has terminated. @returns false when nobody has */
  async destroyTerminated(input: Omit<SandboxInput, 'begin'>): Promise<boolean> {
    if ((await this.#statusOf(workflowIdOf(input.id))) !== 'TERMINATED') return false;
    await destroySandbox(this.client, { ...input, begin: 'destroy' }, { actor: TEMPORAL_OPERATOR });
    return true;
  }

  /** Has a saga of its own go on with a sandbox that has none. @returns false when it has one by now */
  async takeOver(input: SandboxInput): Promise<boolean> {
    try {
      await takeOverSandbox(this.client, input);
      return true;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    }
  }

  /** Resolves when the store has the record. @returns false when no saga of that sandbox runs */
  async restoreRecord(sandboxId: string): Promise<boolean> {
    try {
      await this.client.workflow.getHandle(workflowIdOf(sandboxId)).executeUpdate(RESTORE_RECORD, { args: [] });
      return true;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  }

  /** Has a command gone on with whose saga is gone: it is started once, whoever asks. */
  async resumeCommand(input: CommandInput): Promise<void> {
    await this.client.workflow.start<(input: CommandInput) => Promise<void>>(COMMAND_WORKFLOW, {
      workflowId: commandWorkflowIdOf(input.commandId),
      taskQueue: CONTROL_QUEUE,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      staticSummary: readable(`${input.commandId} in ${input.sandboxId}`),
    });
  }

  /** Has a sandbox's own workflow begin an operation; the same id again joins the one that is there. */
  async operate(sandboxId: string, operation: Operation): Promise<void> {
    await operate(this.client, sandboxId, operation);
  }

  /** Resolves when the operation has ended. @returns why it failed; null: it did not @throws the signal's reason when it fires first */
  async operated(sandboxId: string, operationId: string, signal: AbortSignal): Promise<SandboxFailure | null> {
    return (await waitFor(this.client, signal, () => operated(this.client, sandboxId, operationId))).failure;
  }

  /** Has the life of a sandbox last for so long from now on. @throws MayflyError sandbox_ended */
  async prolong(sandboxId: string, ttlSeconds: number, actor: Actor): Promise<void> {
    try {
      await patchSandbox(this.client, sandboxId, { ttlSeconds, actor });
    } catch (error) {
      if (!isGone(error)) throw error;
      throw new MayflyError('sandbox_ended', `The saga of ${sandboxId} has ended.`, { cause: error });
    }
  }

  /** Has the workflow of a run look at what it waits for. Returns when Temporal has it, or it does not run. */
  async lookAtWaits(runId: string): Promise<void> {
    await lookAtWaits(this.client, runId);
  }

  /** Each of these joins the same, when that runs. */
  async deleteSnapshot(input: DeleteSnapshotInput): Promise<void> {
    await deleteSnapshot(this.client, input);
  }
  async capture(input: CaptureInput): Promise<void> {
    await startCapture(this.client, input);
  }
  async deleteSource(input: DeleteSourceInput): Promise<void> {
    await deleteSource(this.client, input);
  }
  async sourceTask(input: SourceInput): Promise<void> {
    await startSourceTask(this.client, input);
  }

  async resumeTemplate(input: TemplateInput): Promise<void> {
    await resumeTemplate(this.client, input);
  }

  /** For a sandbox that booted cold, and for whoever asks. */
  async wantTemplate(input: TemplateInput, wish: TemplateWish): Promise<void> {
    await wantTemplate(this.client, input, wish);
  }

  /** Has a workflow go on with a pool, unless one does. */
  async resumePool(input: PoolInput): Promise<void> {
    await resumePool(this.client, input);
  }

  /** Has a build begin that was stored; the same again joins it, and another of its name keeps it waiting. */
  async buildImage(input: ImageInput): Promise<void> {
    await buildImage(this.client, input);
  }

  /** Begins an admitted run, or goes on with it, unless it runs. @param isFirst it never began, by its record */
  startRun(input: RunInput, isFirst: boolean): Promise<RunStart> {
    return startRun(this.client, input, isFirst);
  }

  /** Has an action on many runs gone on with, unless it is. */
  async startBulk(input: BulkInput): Promise<void> {
    await startBulk(this.client, input);
  }

  /** Has what is to be done with a setup done, unless it is being done. */
  async startSetup(of: SetupRef): Promise<void> {
    await startSetup(this.client, of);
  }

  /** Has a setup go that no version needs any more. */
  async removeSetup(of: SetupRef): Promise<void> {
    await removeSetup(this.client, of);
  }

  /** Returns when Temporal has the wish, or nothing runs that could be cancelled. */
  async cancelRun(runId: string, actor: Actor): Promise<void> {
    await cancelRun(this.client, runId, actor);
  }

  /** Has the queue of a function looked at now. */
  async wakeDispatcher(of: { project: string; name: string }): Promise<void> {
    await wakeDispatcher(this.client, of);
  }

  /** Has the queue of a function looked at, unless somebody does. */
  async ensureDispatcher(of: { project: string; name: string }): Promise<void> {
    await ensureDispatcher(this.client, of);
  }

  /** Begins what is sent of an event to an endpoint, unless that is under way. */
  async startDelivery(input: DeliveryInput): Promise<void> {
    await startDelivery(this.client, input);
  }

  /** Has what is sent looked at again, now; begins it unless it is under way. */
  async lookAtDelivery(input: DeliveryInput): Promise<void> {
    await lookAtDelivery(this.client, input);
  }

  /**
   * As {@link Sagas.claim}: returns when the member is the request's.
   * @throws MayflyError why it is not; temporal_unavailable when it may be
   */
  async claim(sandboxId: string, request: ClaimRequest): Promise<void> {
    try {
      await this.client.withDeadline(Date.now() + CLAIM_MS, () => claimMember(this.client, sandboxId, request));
    } catch (error) {
      rethrow(error);
      throw error;
    }
  }

  async poolUsed(pool: Pick<PoolInput, 'project' | 'name'>, claims: PoolClaims): Promise<void> {
    await this.client.workflow.getHandle(poolWorkflowIdOf(pool)).signal<[PoolClaims]>(POOL_USED, claims);
  }

  /** Has a member of a pool end, unless it is claimed. @returns whether it does, or has no saga */
  retire(sandboxId: string): Promise<boolean> {
    return retireMember(this.client, sandboxId);
  }

  /** Has members of pools end for want of room. @returns those that do, or have no saga any more */
  giveWay(members: readonly GivenUp[], why: GaveWay): Promise<string[]> {
    return giveWay(this.client, members, why);
  }

  /** Has a sandbox end without the host that it is on. */
  leaveHost(input: SandboxInput, forgotten: HostForgotten): Promise<void> {
    return leaveHost(this.client, input, forgotten);
  }

  /** Ends a workflow that waits for what does not come; it says nothing more. */
  async terminate(workflowId: string, why: string): Promise<void> {
    try {
      await this.client.workflow.getHandle(workflowId).terminate(why);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /** Ends a saga which the store says has ended. */
  async end(sandboxId: string): Promise<void> {
    try {
      await this.client.workflow
        .getHandle(workflowIdOf(sandboxId))
        .signal<[StopRequest]>(DESTROY, { actor: RECONCILER });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}
