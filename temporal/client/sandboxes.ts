import { randomUUID } from 'node:crypto';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { redactText } from '../../model/redaction/redact.ts';
import { TEMPORAL_OPERATOR } from '../../model/sagas/cancellation.ts';
import {
  ACCEPTED,
  AWAIT_OPERATION,
  CREATE_FINISHED,
  DESTROY,
  HOST_DECOMMISSIONED,
  type HostDecommissioned,
  MACHINE_ENDED,
  OPERATE,
  type Operation,
  type OperationReport,
  RECORD_EVENT,
  RECORD_EVENTS_WORKFLOW,
  RESTORE_RECORD,
  recordEventsWorkflowId,
  SANDBOX_WORKFLOW,
  type SandboxInput,
  SEARCH_ATTRIBUTES,
  type SpecUpdate,
  UPDATE_SPEC,
} from '../../model/sagas/messages.ts';
import { CONTROL_QUEUE, sandboxWorkflowId } from '../../model/sagas/queues.ts';
import { markReadable } from '../../model/sagas/readable.ts';
import { RECONCILER } from '../../model/sagas/reconcile.ts';
import type { StopRequest } from '../../model/sagas/stop-request.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { MachineEndReport } from '../../model/sandbox/machine-end.ts';
import type { SandboxFailure } from '../../model/sandbox/sandbox.ts';
import { isMissingWorkflow } from '../call/failure.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

type SandboxWorkflow = (input: SandboxInput) => Promise<unknown>;

/** Open run in Temporal's list, which lags by some seconds. */
export interface OpenRun {
  sandboxId: string;
  startedAt: Date;
  /** Last state that it reported; null for none yet. */
  state: string | null;
  hostId: string | null;
}

const SOURCE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.source, SearchAttributeType.KEYWORD);
const HOST = defineSearchAttributeKey(SEARCH_ATTRIBUTES.host, SearchAttributeType.KEYWORD);
const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);
/** Query of the open runs of sandboxes. */
const OPEN_SANDBOXES = `WorkflowType = "${SANDBOX_WORKFLOW}" AND ExecutionStatus = "Running"`;

/** Starts, updates and ends the workflows of sandboxes. */
export class SandboxWorkflows extends WorkflowClient {
  /**
   * Starts a workflow. Resolves when Temporal has it, before it runs. @returns false when that id has a workflow, or
   * had one
   */
  begin(input: SandboxInput): Promise<boolean> {
    return this.#startNew(input, 'REJECT_DUPLICATE');
  }

  /** Starts a workflow that adopts a sandbox without one. @returns false when one runs by now */
  takeOver(input: SandboxInput): Promise<boolean> {
    return this.#startNew(input, 'ALLOW_DUPLICATE');
  }

  async #startNew(
    input: SandboxInput,
    workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE',
  ): Promise<boolean> {
    const options = { ...startOptions(input), taskQueue: CONTROL_QUEUE, workflowIdReusePolicy };
    const started = await this.unlessGone(() =>
      this.client.workflow.start<SandboxWorkflow>(SANDBOX_WORKFLOW, { ...options, workflowIdConflictPolicy: 'FAIL' }),
    );
    return started !== undefined;
  }

  /**
   * As {@link begin}, for a caller that then awaits {@link settled}. Resolves when the workflow has started, and has
   * recorded the request if the store was available. A repeated id joins the existing workflow.
   */
  async create(input: SandboxInput): Promise<void> {
    const startWorkflowOperation = new WithStartWorkflowOperation<SandboxWorkflow>(SANDBOX_WORKFLOW, {
      ...startOptions(input),
      taskQueue: CONTROL_QUEUE,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
    // Rejects as well when the call does; the call's own error is reported.
    startWorkflowOperation.workflowHandle().catch(() => {});
    const update = {
      startWorkflowOperation,
      args: [] as [],
      updateId: CREATE_FINISHED,
      waitForStage: 'ACCEPTED',
    } as const;
    await this.calls.call(() => this.client.workflow.startUpdateWithStart(CREATE_FINISHED, update));
  }

  /** Resolves when the request is recorded. @throws MayflyError name_taken when it never will be */
  async recorded(id: string): Promise<void> {
    await this.calls.call(async () => {
      try {
        await this.ask(id, ACCEPTED, [], ACCEPTED);
      } catch (error) {
        if (!isMissingWorkflow(error)) throw error;
        await this.handle(sandboxWorkflowId(id)).result(); // throws the reason why it ended without a record
      }
    });
  }

  /**
   * Resolves when the sandbox is running or has ended. @throws MayflyError name_taken; the signal's reason when it
   * fires first
   */
  async settled(id: string, signal: AbortSignal): Promise<void> {
    await this.calls.wait(signal, () => this.ask(id, CREATE_FINISHED, [], CREATE_FINISHED));
  }

  /** Resolves when the store has the change. @throws MayflyError sandbox_ended, also for an unknown sandbox */
  async patch(id: string, patch: SpecUpdate): Promise<void> {
    const updateId = randomUUID();
    await this.calls.call(() => this.askOpen(id, UPDATE_SPEC, [patch], updateId));
  }

  /** Requests the destruction; starts a workflow if none runs. Resolves when Temporal has it. */
  async destroy(input: SandboxInput, stop: StopRequest): Promise<void> {
    await this.signalWithStart(SANDBOX_WORKFLOW, startOptions(input), DESTROY, stop);
  }

  /** Destroys a sandbox whose workflow an operator has terminated. @returns false when it was not terminated */
  async destroyTerminated(input: Omit<SandboxInput, 'begin'>): Promise<boolean> {
    if ((await this.statusOf(sandboxWorkflowId(input.id))) !== 'TERMINATED') return false;
    await this.destroy({ ...input, begin: 'destroy' }, { actor: TEMPORAL_OPERATOR });
    return true;
  }

  /** Ends the workflow of a sandbox that has ended by its record. */
  async end(sandboxId: string): Promise<void> {
    await this.signal(sandboxWorkflowId(sandboxId), DESTROY, { actor: RECONCILER } satisfies StopRequest);
  }

  /** Ends a sandbox without its decommissioned host; starts a workflow for that if none runs. */
  async leaveHost(input: SandboxInput, forgotten: HostDecommissioned): Promise<void> {
    await this.signalWithStart(SANDBOX_WORKFLOW, startOptions(input), HOST_DECOMMISSIONED, forgotten);
  }

  /**
   * Reports the death of its machine. Resolves when Temporal has it, or when no workflow runs, which the reconciler
   * handles.
   */
  async reportMachineEnd(sandboxId: string, report: MachineEndReport): Promise<void> {
    await this.signal(sandboxWorkflowId(sandboxId), MACHINE_ENDED, report);
  }

  /**
   * Resolves when the store has the record, which it may have lost when it was set back. @returns false when no
   * workflow runs
   */
  async restoreRecord(sandboxId: string): Promise<boolean> {
    const restored = await this.unlessGone(async () => {
      await this.handle(sandboxWorkflowId(sandboxId)).executeUpdate(RESTORE_RECORD, { args: [] });
      return true;
    });
    return restored ?? false;
  }

  /** Reports whether its workflow runs. */
  async isOpen(sandboxId: string): Promise<boolean> {
    return (await this.statusOf(sandboxWorkflowId(sandboxId))) === 'RUNNING';
  }

  async listOpen(): Promise<OpenRun[]> {
    const runs: OpenRun[] = [];
    const found = this.client.workflow.list({ query: OPEN_SANDBOXES });
    for await (const { workflowId, startTime, searchAttributes } of found) {
      const [, sandboxId] = /^sandbox\/(.*)$/.exec(workflowId) ?? [];
      if (sandboxId === undefined) continue;
      const attribute = (name: string) => searchAttributes[name]?.map(String)[0] ?? null;
      const [state, hostId] = [attribute(SEARCH_ATTRIBUTES.state), attribute(SEARCH_ATTRIBUTES.host)];
      runs.push({ sandboxId, startedAt: startTime, state, hostId });
    }
    return runs;
  }

  /**
   * Resolves when the workflow has ended, with all resources released. @throws the signal's reason when it fires first
   */
  async ended(id: string, signal: AbortSignal): Promise<void> {
    await this.result(sandboxWorkflowId(id), signal);
  }

  /**
   * Starts a snapshot, a restore, a pause or a resume. Resolves when it is accepted and recorded; a repeated operation
   * id joins the existing one.
   * @throws MayflyError sandbox_busy, sandbox_not_running, sandbox_ended, snapshot_name_taken, snapshot_not_found,
   * snapshot_not_ready
   */
  async operate(sandboxId: string, operation: Operation): Promise<void> {
    await this.calls.call(() => this.askOpen(sandboxId, OPERATE, [operation], operation.operationId));
  }

  /**
   * Resolves when the operation has ended, with its failure; null for a success.
   * @throws the signal's reason when it fires first
   */
  async operated(sandboxId: string, operationId: string, signal: AbortSignal): Promise<SandboxFailure | null> {
    const updateId = `${AWAIT_OPERATION}/${operationId}`;
    const report = await this.calls.wait(signal, () =>
      this.ask<OperationReport>(sandboxId, AWAIT_OPERATION, [operationId], updateId),
    );
    return report?.failure ?? null;
  }

  /**
   * Appends an event that no workflow produces, such as a file access, to the sandbox's audit trail. Resolves when
   * Temporal has it, before it is written; a repeated `eventId` changes nothing. Names and counts only, never content.
   */
  async recordEvent(sandboxId: string, event: AuditEvent): Promise<void> {
    const signed = { sandboxId, event: { ...event, runId: null } };
    const options = {
      workflowId: recordEventsWorkflowId(sandboxId),
      args: [{ sandboxId }],
      staticSummary: markReadable(`accesses to ${sandboxId}`),
    };
    const signature = this.signer.sign('event', signed);
    await this.signalWithStart(RECORD_EVENTS_WORKFLOW, options, RECORD_EVENT, { ...event, signature });
  }
}

function startOptions(input: SandboxInput) {
  const { source, agentId } = input.spec;
  const [host] = input.hosts;
  return {
    workflowId: sandboxWorkflowId(input.id),
    args: [input] as [SandboxInput],
    typedSearchAttributes: [
      { key: SOURCE, value: source },
      ...(agentId ? [{ key: AGENT, value: redactText(agentId) }] : []),
      ...(host ? [{ key: HOST, value: host.hostId }] : []),
    ],
    staticSummary: markReadable(`${input.id} from ${source}`),
    staticDetails: `Asked for by API key ${input.createdBy.apiKeyId}${agentId ? `, agent ${agentId}` : ''}`,
  };
}
