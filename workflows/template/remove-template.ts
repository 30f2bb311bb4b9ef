import { controlUntilDone } from '../saga/control.ts';
import { RecordedTemplate, type TemplateState } from './template-life.ts';
import { templateSandboxes } from './template-sandboxes.ts';
import { templateSteps } from './template-steps.ts';

/** Removes a template from which no sandbox wakes any longer; sandboxes woken from it live on. */
export async function removeTemplate(task: RecordedTemplate, reason: string): Promise<void> {
  await task.recordChange({ state: 'removing', reason });
  const { undos } = templateSteps(task);
  await undos.retireTemplate();
  await undos.removeSnapshot({ snapshotId: task.record.id }); // woken sandboxes keep the layers they need
  await task.recordChange({ state: 'gone', waitingFor: null, retryAt: null }, 'template.gone');
}

/**
 * Recalls the stored templates of the key when a run begins. A ready one stays; one left unfinished by a lost run is
 * removed.
 */
export async function recallTemplate(life: TemplateState): Promise<RecordedTemplate | null> {
  const { continued, hostId, templateKey } = life.input;
  if (continued) return continued.ready && new RecordedTemplate(life, continued.ready);
  let ready: RecordedTemplate | null = null;
  for (const record of await controlUntilDone.recallTemplates({ hostId, templateKey })) {
    const task = new RecordedTemplate(life, record);
    if (record.state === 'ready' && ready === null) ready = task;
    else if (record.state === 'failed' && life.failed === null) life.recallFailure(task);
    else await removeUnfinished(task);
  }
  return ready;
}

async function removeUnfinished(task: RecordedTemplate): Promise<void> {
  const { builder, probes } = templateSandboxes(task);
  for (const probe of probes) await task.retryUntilDone('destroyProbes', () => probe.destroy());
  await task.retryUntilDone('destroyBuilder', () => builder.destroy());
  await removeTemplate(task, 'The workflow that worked on it was lost.');
}
