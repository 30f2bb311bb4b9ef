import { proxyActivities } from '@temporalio/workflow';
import type { ControlActivities } from '../../activities/control.ts';
import {
  type MakeTemplateInput,
  type TemplateResult,
  templateWorkflowId,
} from '../../model/templates/template-saga.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { controlUntilDone } from '../saga/control.ts';
import { failureOf } from '../saga/failure.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { waitForWorkflow } from '../saga/subscription.ts';
import { inspectTemplate } from './template-steps.ts';

const { wantTemplate } = proxyActivities<ControlActivities>(PROFILE.work(2 * MINUTE_MS));

/** Timeout of a requested build's start: longer than the longest backoff after failed builds, ms. */
const BEGIN_MS = 16 * MINUTE_MS;

/**
 * Requests a template, by the key its host computes; resolves when the store has its record. A refusal is its result.
 */
export async function makeTemplate({ templateId, ...wanted }: MakeTemplateInput): Promise<TemplateResult> {
  try {
    return await untilCancelled(() => requestTemplate(wanted, templateId));
  } catch (error) {
    const { code, message } = failureOf(error, 'lookAtTemplate');
    return { refused: { code, message } };
  }
}

async function requestTemplate(
  wanted: Omit<MakeTemplateInput, 'templateId'>,
  templateId: string,
): Promise<TemplateResult> {
  const { hostId, installationId, source } = wanted;
  const { templateKey } = await inspectTemplate(wanted, null);
  if (templateKey === null) {
    const message = `${hostId} makes no templates of ${JSON.stringify(source)}, or of no machine at all.`;
    return { refused: { code: 'template_unsupported', message } };
  }
  await wantTemplate({ input: { ...wanted, templateKey }, wish: { templateId, installationId } });
  const of = { hostId, templateKey };
  const target = { workflowId: templateWorkflowId(of), withinMs: BEGIN_MS };
  return { ...(await waitForWorkflow(target, () => controlUntilDone.findTemplate(of))), templateKey };
}
