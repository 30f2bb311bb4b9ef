import type { Client } from '@temporalio/client';
import {
  ApplicationFailure,
  isGrpcServiceError,
  ServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { AuditEvent } from '../model/audit.ts';
import type { CertificateInput, IssuedCertificate, Revocation } from '../model/certificate.ts';
import { CANCEL_COMMAND, COMMAND_WORKFLOW, type CommandInput, commandWorkflowIdOf } from '../model/command.ts';
import { isErrorCode, MayflyError } from '../model/errors.ts';
import type { RecordEventInput, SandboxInput, SandboxPatch, StopRequest } from '../model/messages.ts';
import {
  ACCEPTED,
  DESTROY,
  PATCH,
  RECORD_EVENT_WORKFLOW,
  SANDBOX_WORKFLOW,
  SEARCH_ATTRIBUTES,
  SETTLED,
} from '../model/messages.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../model/queues.ts';
import type { Actor } from '../model/sandbox.ts';
import { SOURCE_TASK_MEMO, SOURCE_WORKFLOW, type SourceInput, sourceWorkflowIdOf } from '../model/source-access.ts';
import type { Sagas } from './sagas.ts';
import { changeTrust, signKey, trusted } from './temporal-certificates.ts';
import { waitFor } from './temporal-wait.ts';

type SandboxWorkflow = (input: SandboxInput) => Promise<unknown>;
type CommandWorkflow = (input: CommandInput) => Promise<void>;
type SourceWorkflow = (input: SourceInput) => Promise<void>;
type RecordEventWorkflow = (input: RecordEventInput) => Promise<void>;

/** How long one call may take before Temporal counts as away. Milliseconds. */
const CALL_MS = 10_000;

const SOURCE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.source, SearchAttributeType.KEYWORD);
const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);

/** The sagas in Temporal: one entity workflow per sandbox. */
export class TemporalSagas implements Sagas {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async create(input: SandboxInput): Promise<void> {
    const startWorkflowOperation = new WithStartWorkflowOperation<SandboxWorkflow>(SANDBOX_WORKFLOW, {
      ...startOptions(input),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
    // Rejected as well when the call is; the call's own error is the one that is told.
    startWorkflowOperation.workflowHandle().catch(() => {});
    await this.#call(() =>
      this.#client.workflow.executeUpdateWithStart(ACCEPTED, { startWorkflowOperation, args: [], updateId: ACCEPTED }),
    );
  }

  async settled(id: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => this.#handle(id).executeUpdate(SETTLED, { args: [], updateId: SETTLED }));
  }

  async patch(id: string, patch: SandboxPatch): Promise<void> {
    await this.#call(async () => {
      try {
        await this.#handle(id).executeUpdate(PATCH, { args: [patch] });
      } catch (error) {
        if (!isGone(error)) throw error;
        throw new MayflyError('sandbox_ended', `The saga of ${id} has ended.`, { cause: error });
      }
    });
  }

  async destroy(input: SandboxInput, stop: StopRequest): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.signalWithStart<SandboxWorkflow, [StopRequest]>(SANDBOX_WORKFLOW, {
        ...startOptions(input),
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        signal: DESTROY,
        signalArgs: [stop],
      }),
    );
  }

  async ended(id: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => this.#handle(id).result());
  }

  async recordEvent(sandboxId: string, event: AuditEvent): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.start<RecordEventWorkflow>(RECORD_EVENT_WORKFLOW, {
        workflowId: `event/${sandboxId}/${event.eventId}`,
        taskQueue: CONTROL_QUEUE,
        args: [{ sandboxId, event }],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        staticSummary: `${sandboxId} · ${event.kind}`,
      }),
    );
  }

  async startCommand(input: CommandInput): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.start<CommandWorkflow>(COMMAND_WORKFLOW, {
        workflowId: commandWorkflowIdOf(input.commandId),
        taskQueue: CONTROL_QUEUE,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        staticSummary: `${input.commandId} in ${input.sandboxId}`,
      }),
    );
  }

  async cancelCommand(commandId: string, actor: Actor): Promise<void> {
    await this.#call(() =>
      this.#client.workflow.getHandle(commandWorkflowIdOf(commandId)).signal<[Actor]>(CANCEL_COMMAND, actor),
    );
  }

  async sourceTask(input: SourceInput): Promise<void> {
    const { hostId, name, task, actor } = input;
    const workflowId = sourceWorkflowIdOf(hostId, name);
    await this.#call(async () => {
      try {
        await this.#client.workflow.start<SourceWorkflow>(SOURCE_WORKFLOW, {
          workflowId,
          taskQueue: CONTROL_QUEUE,
          args: [input],
          memo: { [SOURCE_TASK_MEMO]: task },
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `${task} ${name} on ${hostId}`,
          staticDetails: `Asked for by API key ${actor.apiKeyId}`,
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        const { memo } = await this.#client.workflow.getHandle(workflowId).describe();
        if (memo?.[SOURCE_TASK_MEMO] === task) return;
        const other = task === 'prepare' ? 'unprepared' : 'prepared';
        throw new MayflyError('too_many_requests', `${JSON.stringify(name)} is being ${other} at this moment.`, {
          cause: error,
          retryAfterSeconds: 5,
        });
      }
    });
  }

  async sourceTaskEnded({ hostId, name }: Pick<SourceInput, 'hostId' | 'name'>, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => this.#client.workflow.getHandle(sourceWorkflowIdOf(hostId, name)).result());
  }

  issueCertificate(requestId: string, input: CertificateInput): Promise<IssuedCertificate> {
    return signKey(this.#client, requestId, input);
  }

  async changeTrust(sandboxId: string, revocation: Revocation): Promise<void> {
    await this.#call(() => changeTrust(this.#client, sandboxId, revocation));
  }

  async trusted(sandboxId: string, signal: AbortSignal): Promise<void> {
    await this.#wait(signal, () => trusted(this.#client, sandboxId));
  }

  async reachable(): Promise<void> {
    await this.#call(() => this.#client.workflowService.getSystemInfo({}));
  }

  #handle(id: string) {
    return this.#client.workflow.getHandle(workflowIdOf(id));
  }

  async #call(call: () => Promise<unknown>): Promise<void> {
    try {
      await this.#client.withDeadline(Date.now() + CALL_MS, call);
    } catch (error) {
      rethrow(error);
    }
  }

  async #wait(signal: AbortSignal, call: () => Promise<unknown>): Promise<void> {
    try {
      await waitFor(this.#client, signal, call);
    } catch (error) {
      signal.throwIfAborted();
      rethrow(error);
    }
  }
}

function startOptions(input: SandboxInput) {
  const { source, agentId } = input.spec;
  return {
    workflowId: workflowIdOf(input.id),
    taskQueue: CONTROL_QUEUE,
    args: [input] as [SandboxInput],
    typedSearchAttributes: [{ key: SOURCE, value: source }, ...(agentId ? [{ key: AGENT, value: agentId }] : [])],
    staticSummary: `${input.id} from ${source}`,
    staticDetails: `Asked for by API key ${input.createdBy.apiKeyId}${agentId ? `, agent ${agentId}` : ''}`,
  };
}

/** The workflow is not there, or not any more. */
function isGone(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError;
}

/** @throws what the caller is to be told; returns when the record decides */
function rethrow(error: unknown): void {
  if (isGone(error) || error instanceof WorkflowFailedError) return;
  if (error instanceof MayflyError) throw error;
  if (error instanceof WorkflowUpdateFailedError) throw failureOf(error);
  if (isAway(error)) {
    throw new MayflyError('temporal_unavailable', 'Temporal did not take the request.', {
      cause: error,
      retryAfterSeconds: 2,
    });
  }
  throw error;
}

function isAway(error: unknown): boolean {
  return (
    error instanceof ServiceError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    isGrpcServiceError(error)
  );
}

function failureOf(error: WorkflowUpdateFailedError): MayflyError {
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  if (cause instanceof ApplicationFailure && type && isErrorCode(type)) {
    return new MayflyError(type, cause.message, { cause: error });
  }
  return new MayflyError('internal', 'The saga refused the request for a reason that is not in our table.', {
    cause: error,
  });
}
