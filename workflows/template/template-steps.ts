import { ActivityCancellationType, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import type { TemplateLook } from '../../activities/template/template.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import { readable } from '../../model/sagas/readable.ts';
import type { TemplateInput } from '../../model/templates/template-saga.ts';
import { optionsUntilDone } from '../life/retry-until-done.ts';
import { CREATE_GENERATION } from '../life/steps.ts';
import { taskSteps } from '../source/task-life.ts';
import type { RecordedTemplate } from './template-record.ts';

const RETRY = { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 5 } as const;
/** A host that is down gets its work when it is back. */
const UNDO = optionsUntilDone('2m');
/** Of the builder, after its create; its end overtakes all of it. */
const BUILDER_GENERATION = CREATE_GENERATION + 1;

/** The steps of one template on its host, each with the line that operators read in the Temporal UI. */
export function templateSteps(task: RecordedTemplate) {
  const { id: templateId, builderId, key: templateKey, source } = task.record;
  const { timeouts, times } = task.life;
  const target = { sandboxId: templateId, generation: task.generation, templateId };
  const gone = { ...target, generation: task.generation + 1 };
  const builder = { sandboxId: builderId, generation: BUILDER_GENERATION, templateId, snapshotId: templateId };
  const summary = `${source} on ${task.record.hostId} → ${templateId}`;
  const within = (ms: number): ActivityOptions => ({
    scheduleToStartTimeout: timeouts.hostDownMs,
    startToCloseTimeout: ms,
    scheduleToCloseTimeout: ms + timeouts.hostDownMs,
    heartbeatTimeout: timeouts.heartbeatMs,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: RETRY,
  });
  const stepsWithin = (ms: number) => taskSteps(task, task.record, { step: within(ms), undo: UNDO, summary });
  const { undo } = stepsWithin(timeouts.cleanupMs);

  return {
    settleTemplate: () => stepsWithin(times.settleMs).step.settleTemplate(builder),
    saveSnapshot: () => stepsWithin(timeouts.hibernateMs).step.saveSnapshot({ ...builder, kind: 'full' }),
    verifySnapshot: () => stepsWithin(timeouts.verifySnapshotMs).step.verifySnapshot(builder),
    publishTemplate: (savedAt: string) =>
      stepsWithin(timeouts.cleanupMs).step.publishTemplate({ ...target, templateKey, savedAt }),

    retireTemplate: () => undo.retireTemplate(gone),
    /** What woke from it keeps what it needs of its disks. */
    removeSnapshot: async () => void (await undo.removeSnapshot({ ...gone, snapshotId: templateId })),
  };
}

export type TemplateSteps = ReturnType<typeof templateSteps>;

/** How a template is on its host. @param templateId null: what its key would be @throws when the host does not answer */
export function lookAtTemplate(
  { project, source, cpus, memoryMib, hostId, installationId = null }: Omit<TemplateInput, 'templateKey' | 'actor'>,
  templateId: string | null,
): Promise<TemplateLook> {
  const host = proxyActivities<HostActivities>({
    taskQueue: hostQueue({ hostId, installationId }),
    summary: readable(`the template of ${source} on ${hostId}`),
    scheduleToStartTimeout: '30s',
    startToCloseTimeout: '10m', // reads the disks of a source that nobody has read yet
    retry: { maximumAttempts: 3 },
  });
  return host.lookAtTemplate({ of: { project, source, cpus, memoryMib }, templateId });
}
