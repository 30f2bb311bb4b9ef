import { markReadable } from '../../model/sagas/readable.ts';
import {
  MAKE_TEMPLATE_WORKFLOW,
  type MakeTemplateInput,
  REMOVE_TEMPLATE,
  REQUEST_TEMPLATE,
  TEMPLATE_WORKFLOW,
  type TemplateInput,
  type TemplateRemoval,
  type TemplateRequest,
  type TemplateResult,
  templateRequestWorkflowId,
  templateWorkflowId,
} from '../../model/templates/template-saga.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

/** Creates, maintains and removes templates. */
export class TemplateWorkflows extends WorkflowClient {
  /**
   * Reports that a sandbox booted cold. Resolves when Temporal has it; starts the workflow of that key if none runs.
   */
  async want(input: TemplateInput, wish: TemplateRequest): Promise<void> {
    await this.signalWithStart(TEMPLATE_WORKFLOW, startOptions(input), REQUEST_TEMPLATE, wish);
  }

  /** Requests the removal of a template, which is not used from then on. Resolves when Temporal has it. */
  async remove(input: TemplateInput, templateId: string): Promise<void> {
    const removal: TemplateRemoval = { templateId };
    await this.signalWithStart(TEMPLATE_WORKFLOW, startOptions(input), REMOVE_TEMPLATE, removal);
  }

  /** Starts a workflow for a template without one, or joins the running one. */
  async resume(input: TemplateInput): Promise<void> {
    await this.startUnlessRunning(TEMPLATE_WORKFLOW, startOptions(input));
  }

  /** Requests a template from a host; the same id joins the existing request. Resolves when Temporal has it. */
  async make(input: MakeTemplateInput): Promise<void> {
    await this.start(MAKE_TEMPLATE_WORKFLOW, {
      workflowId: templateRequestWorkflowId(input.templateId),
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      staticSummary: markReadable(`a template of ${input.source} on ${input.hostId}`),
      staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
    });
  }

  /**
   * Resolves when the request has ended, with the template, or the reason why there is none; undefined when it is
   * unknown.
   * @throws the signal's reason when it fires first
   */
  made(templateId: string, signal: AbortSignal): Promise<TemplateResult | undefined> {
    return this.result(templateRequestWorkflowId(templateId), signal);
  }
}

function startOptions(input: TemplateInput) {
  return {
    workflowId: templateWorkflowId(input),
    args: [input],
    staticSummary: markReadable(`template of ${input.source} on ${input.hostId}`),
    staticDetails: `Asked for by API key ${input.actor.apiKeyId}`,
  };
}
