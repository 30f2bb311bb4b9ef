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
import { WorkflowClient } from '../call/workflow-client.ts';

/** Makes, keeps and removes templates. */
export class TemplateWorkflows extends WorkflowClient {
  /** Says that a sandbox booted cold. Resolves when Temporal has it; the workflow of that key is begun where none runs. */
  async want(input: TemplateInput, wish: TemplateWish): Promise<void> {
    await this.signalWithStart(TEMPLATE_WORKFLOW, startOptions(input), TEMPLATE_WANTED, wish);
  }

  /** Has a template go, from which nothing wakes any more. Resolves when Temporal has it. */
  async remove(input: TemplateInput, templateId: string): Promise<void> {
    const removal: TemplateRemoval = { templateId };
    await this.signalWithStart(TEMPLATE_WORKFLOW, startOptions(input), REMOVE_TEMPLATE, removal);
  }

  /** Has a workflow go on with a template that has none; joins the one that runs. */
  async resume(input: TemplateInput): Promise<void> {
    await this.startUnlessRunning(TEMPLATE_WORKFLOW, startOptions(input));
  }

  /** Begins to ask a host for a template; the same id again joins the request that is there. Resolves when Temporal has it. */
  async make(input: MakeTemplateInput): Promise<void> {
    await this.start(MAKE_TEMPLATE_WORKFLOW, {
      workflowId: templateRequestWorkflowIdOf(input.templateId),
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      staticSummary: readable(`a template of ${input.source} on ${input.hostId}`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
  }

  /**
   * Resolves when it is known which template there is then, or why there is none; undefined when nothing is known any more.
   * @throws the signal's reason when it fires first
   */
  made(templateId: string, signal: AbortSignal): Promise<MadeTemplate | undefined> {
    return this.result(templateRequestWorkflowIdOf(templateId), signal);
  }
}

function startOptions(input: TemplateInput) {
  return {
    workflowId: templateWorkflowIdOf(input),
    args: [input],
    staticSummary: readable(`template of ${input.source} on ${input.hostId}`),
    staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
  };
}
