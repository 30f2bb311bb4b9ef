import type { ActivityOptions } from '@temporalio/workflow';
import type { TemplateInspection } from '../../activities/template/template.ts';
import type { TemplateInput } from '../../model/templates/template-saga.ts';
import { CREATE_GENERATION } from '../entity/steps.ts';
import { onHost } from '../saga/host-activities.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { taskCompensations, taskSteps } from '../source/task-life.ts';
import type { RecordedTemplate } from './template-life.ts';

/** Generation of the builder's steps, after its create; its end fences them all off. */
const BUILDER_GENERATION = CREATE_GENERATION + 1;

/** Returns the steps of one template on its host: those in its builder, its own, and their compensations. */
export function templateSteps(task: RecordedTemplate) {
  const { id: templateId, builderId, source } = task.record;
  const { timeouts } = task.life;
  const target = { sandboxId: templateId, templateId };
  const summary = `${source} on ${task.record.hostId} → ${templateId}`;
  const builder = { sandboxId: builderId, templateId, snapshotId: templateId };
  const within = (ms: number): ActivityOptions => ({ ...PROFILE.step(ms, timeouts), summary });
  return {
    inBuilder: (ms: number) => taskSteps(task, task.record, builder, within(ms), BUILDER_GENERATION),
    step: taskSteps(task, task.record, target, within(timeouts.cleanupMs)),
    undos: taskCompensations(task, task.record, target, summary),
  };
}

/**
 * Inspects a template on its host.
 * @param templateId null: computes only its key
 * @throws when the host does not answer
 */
export function inspectTemplate(
  { project, source, cpus, memoryMib, hostId, installationId }: Omit<TemplateInput, 'templateKey' | 'actor'>,
  templateId: string | null,
): Promise<TemplateInspection> {
  const profile = PROFILE.probe(10 * MINUTE_MS); // reads the disks of a source for the first time
  const summary = `the template of ${source} on ${hostId}`;
  const of = { project, source, cpus, memoryMib };
  return onHost({ hostId, installationId }, { ...profile, summary }).lookAtTemplate({ of, templateId });
}
