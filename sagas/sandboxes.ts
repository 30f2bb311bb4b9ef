import { randomUUID } from 'node:crypto';
import { type Client, WithStartWorkflowOperation } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { redactText } from '../model/redaction/redact.ts';
import type { HostForgotten, SandboxInput, SandboxPatch, StopRequest } from '../model/sagas/messages.ts';
import {
  ACCEPTED,
  DESTROY,
  HOST_FORGOTTEN,
  PATCH,
  SANDBOX_WORKFLOW,
  SEARCH_ATTRIBUTES,
  SETTLED,
} from '../model/sagas/messages.ts';
import { CONTROL_QUEUE, workflowIdOf } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import { ask } from './temporal/ask.ts';
import { isGone } from './temporal/failure.ts';

type SandboxWorkflow = (input: SandboxInput) => Promise<unknown>;

const SOURCE = defineSearchAttributeKey(SEARCH_ATTRIBUTES.source, SearchAttributeType.KEYWORD);
const HOST = defineSearchAttributeKey(SEARCH_ATTRIBUTES.host, SearchAttributeType.KEYWORD);
const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, SearchAttributeType.KEYWORD);

/**
 * Returns when Temporal has the request, before its workflow has begun.
 * @throws WorkflowExecutionAlreadyStartedError when that id has a workflow, or had one
 */
export function beginSandbox(client: Client, input: SandboxInput): Promise<unknown> {
  return client.workflow.start<SandboxWorkflow>(SANDBOX_WORKFLOW, {
    ...startOptions(input),
    workflowIdConflictPolicy: 'FAIL',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
  });
}

/**
 * Returns when its workflow has begun, which writes the record first; the same id again joins the workflow that is
 * there. The one update is the one whose end {@link sandboxSettled} waits for.
 */
export async function createSandbox(client: Client, input: SandboxInput): Promise<void> {
  const startWorkflowOperation = new WithStartWorkflowOperation<SandboxWorkflow>(SANDBOX_WORKFLOW, {
    ...startOptions(input),
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
  });
  // Rejected as well when the call is; the call's own error is the one that is told.
  startWorkflowOperation.workflowHandle().catch(() => {});
  await client.workflow.startUpdateWithStart(SETTLED, {
    startWorkflowOperation,
    args: [],
    updateId: SETTLED,
    waitForStage: 'ACCEPTED',
  });
}

/**
 * Returns when it has a record. A store that was slow may have kept that from being so when it began.
 * @throws WorkflowFailedError why it has ended without one
 */
export async function sandboxRecorded(client: Client, id: string): Promise<void> {
  const saga = client.workflow.getHandle(workflowIdOf(id));
  try {
    await ask(client, saga.workflowId, ACCEPTED, { args: [], updateId: ACCEPTED });
  } catch (error) {
    if (!isGone(error)) throw error;
    await saga.result();
  }
}

/** Resolves when it runs, or will not any more. */
export function sandboxSettled(client: Client, id: string): Promise<unknown> {
  return ask(client, workflowIdOf(id), SETTLED, { args: [], updateId: SETTLED });
}

/** Returns when the store has it. */
export function patchSandbox(client: Client, id: string, patch: SandboxPatch): Promise<null> {
  return ask(client, workflowIdOf(id), PATCH, { args: [{ ...patch, isReadThen: true }], updateId: randomUUID() });
}

/** Returns when Temporal has the wish; starts a workflow of its own when none runs. */
export async function destroySandbox(client: Client, input: SandboxInput, stop: StopRequest): Promise<void> {
  await client.workflow.signalWithStart<SandboxWorkflow, [StopRequest]>(SANDBOX_WORKFLOW, {
    ...startOptions(input),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    signal: DESTROY,
    signalArgs: [stop],
  });
}

/** Starts a workflow that goes on with a sandbox which has none. @throws WorkflowExecutionAlreadyStartedError when it has one */
export async function takeOverSandbox(client: Client, input: SandboxInput): Promise<void> {
  await client.workflow.start<SandboxWorkflow>(SANDBOX_WORKFLOW, {
    ...startOptions(input),
    workflowIdConflictPolicy: 'FAIL',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  });
}

/** Returns when Temporal has it that the sandbox's host is given up; starts a workflow that goes on with it when none runs. */
export async function leaveHost(client: Client, input: SandboxInput, forgotten: HostForgotten): Promise<void> {
  await client.workflow.signalWithStart<SandboxWorkflow, [HostForgotten]>(SANDBOX_WORKFLOW, {
    ...startOptions(input),
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    signal: HOST_FORGOTTEN,
    signalArgs: [forgotten],
  });
}

/** Resolves when nothing is left of it. */
export function sandboxEnded(client: Client, id: string): Promise<unknown> {
  return client.workflow.getHandle(workflowIdOf(id)).result();
}

function startOptions(input: SandboxInput) {
  const { source, agentId } = input.spec;
  const [hostId] = input.hostIds ?? [];
  return {
    workflowId: workflowIdOf(input.id),
    taskQueue: CONTROL_QUEUE,
    args: [{ hostIds: [], ...input }] as [SandboxInput],
    typedSearchAttributes: [
      { key: SOURCE, value: source },
      ...(agentId ? [{ key: AGENT, value: redactText(agentId) }] : []),
      ...(hostId ? [{ key: HOST, value: hostId }] : []),
    ],
    staticSummary: readable(`${input.id} from ${source}`),
    staticDetails: `Asked for by API key ${input.createdBy.apiKeyId}${agentId ? `, agent ${agentId}` : ''}`,
  };
}
