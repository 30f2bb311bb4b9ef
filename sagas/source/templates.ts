import type { Client } from '@temporalio/client';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import {
  MAKE_TEMPLATE_WORKFLOW,
  type MadeTemplate,
  type MakeTemplateInput,
  REMOVE_TEMPLATE,
  TEMPLATE_WANTED,
  TEMPLATE_WORKFLOW,
  type TemplateInput,
  type TemplateRemoval,
  type TemplateWish,
  templateRequestWorkflowIdOf,
  templateWorkflowIdOf,
} from '../../model/templates/template-saga.ts';

type TemplateWorkflow = (input: TemplateInput) => Promise<void>;
type MakeTemplateWorkflow = (input: MakeTemplateInput) => Promise<MadeTemplate>;

/** Returns when Temporal has it; the workflow of that key is begun where none runs. */
export async function wantTemplate(client: Client, input: TemplateInput, wish: TemplateWish): Promise<void> {
  await client.workflow.signalWithStart<TemplateWorkflow, [TemplateWish]>(TEMPLATE_WORKFLOW, {
    ...startOptions(input),
    signal: TEMPLATE_WANTED,
    signalArgs: [wish],
  });
}

/** As {@link wantTemplate}: none wakes from that one any more, and it goes. */
export async function removeTemplate(client: Client, input: TemplateInput, removal: TemplateRemoval): Promise<void> {
  await client.workflow.signalWithStart<TemplateWorkflow, [TemplateRemoval]>(TEMPLATE_WORKFLOW, {
    ...startOptions(input),
    signal: REMOVE_TEMPLATE,
    signalArgs: [removal],
  });
}

/** Has a workflow go on with a template that has none; joins the one that runs. */
export async function resumeTemplate(client: Client, input: TemplateInput): Promise<void> {
  await client.workflow.start<TemplateWorkflow>(TEMPLATE_WORKFLOW, {
    ...startOptions(input),
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
}

/** Returns when Temporal has it; the same id again joins the request that is there. */
export async function makeTemplate(client: Client, input: MakeTemplateInput): Promise<void> {
  await client.workflow.start<MakeTemplateWorkflow>(MAKE_TEMPLATE_WORKFLOW, {
    workflowId: templateRequestWorkflowIdOf(input.templateId),
    taskQueue: CONTROL_QUEUE,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    staticSummary: readable(`a template of ${input.source} on ${input.hostId}`),
    staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
  });
}

/** Resolves when it is known which template there is then, or why there is none. */
export function templateMade(client: Client, templateId: string): Promise<MadeTemplate> {
  return client.workflow.getHandle<MakeTemplateWorkflow>(templateRequestWorkflowIdOf(templateId)).result();
}

function startOptions(input: TemplateInput) {
  return {
    workflowId: templateWorkflowIdOf(input),
    taskQueue: CONTROL_QUEUE,
    args: [input] as [TemplateInput],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
    staticSummary: readable(`template of ${input.source} on ${input.hostId}`),
    staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
  };
}
