import { sleep } from '@temporalio/workflow';
import { newTemplate } from '../../model/templates/template-saga.ts';
import { runUntil } from '../saga/cancellation.ts';
import { control, controlUntilDone } from '../saga/control.ts';
import { failureOf, refusal } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { saga } from '../saga/saga.ts';
import { RecordedTemplate, type TemplateState } from './template-life.ts';
import { templateSandboxes } from './template-sandboxes.ts';
import { inspectTemplate, templateSteps } from './template-steps.ts';

/**
 * Builds a template, unless a removal is requested first.
 * @returns the ready template; null when there is none, and its record has the reason
 */
export async function buildTemplate(life: TemplateState, usedAt: string | null): Promise<RecordedTemplate | null> {
  const task = await begin(life, usedAt);
  const { id } = task.record;
  try {
    const built = await runUntil(
      () => life.isToGo(id),
      () => build(task),
    );
    if (built) await task.recordChange({ state: 'ready', readyAt: now(), waitingFor: null }, 'template.ready');
    else await recordGone(task);
    return built && task;
  } catch (error) {
    if (life.isToGo(id)) await recordGone(task);
    else await recordFailed(task, error);
    return null;
  }
}

/** Starts a build, which replaces a failed one. */
async function begin(life: TemplateState, lastUsedAt: string | null): Promise<RecordedTemplate> {
  const { failed, input, wish } = life;
  const ids = await controlUntilDone.templateIds(wish ?? {});
  life.wish = null;
  if (failed) await failed.recordChange({ state: 'gone', retryAt: null });
  life.failed = null;
  const task = new RecordedTemplate(life, { ...newTemplate(input, ids, now()), lastUsedAt });
  await task.recordChange({ waitingFor: `the creates that are under way on ${input.hostId}` }, 'template.building');
  return task;
}

/**
 * Builds a template on a quiet host, and verifies it:
 *
 *   builder (boots with its network link down) → settle → save, verify → builder destroyed → two probes wake from it → compared →
 *   probes destroyed → published
 *
 * When a step fails, compensations run newest first until success.
 */
async function build(task: RecordedTemplate): Promise<void> {
  await awaitQuiet(task);
  await task.step('lookAtTemplate', () => assertUnchanged(task));
  await task.recordChange({ waitingFor: null });
  const { id: templateId, builderId, probeIds } = task.record;
  const { inBuilder, step, undos } = templateSteps(task);
  const { hibernateMs, verifySnapshotMs } = task.life.timeouts;
  const { builder, probes } = templateSandboxes(task);
  const destroyBuilder = () => task.retryUntilDone('destroyBuilder', () => builder.destroy());
  const destroyProbes = async () => {
    for (const probe of probes) await task.retryUntilDone('destroyProbes', () => probe.destroy());
  };
  await saga(async (undo) => {
    undo('saveSnapshot', async () => void (await undos.removeSnapshot({ snapshotId: templateId })));
    undo('startBuilder', destroyBuilder); // also stops a running save
    await task.step('startBuilder', () => builder.start());
    await inBuilder(task.life.times.settleMs).settleTemplate();
    await inBuilder(hibernateMs).saveSnapshot({ kind: 'full' });
    const { savedAt, sizeBytes } = await inBuilder(verifySnapshotMs).verifySnapshot();
    await destroyBuilder();
    await task.recordChange({ state: 'verifying', savedAt, sizeBytes });
    undo('startProbes', destroyProbes);
    await task.step('startProbes', async () => void (await Promise.all(probes.map((probe) => probe.start()))));
    await task.step('compareProbes', () => control.compareProbes({ templateId, builderId, probeIds }));
    await destroyProbes();
    undo('publishTemplate', () => undos.retireTemplate());
    await step.publishTemplate({ templateKey: task.record.key, savedAt });
  });
}

/** Yields to creates in progress, for a limited time. */
async function awaitQuiet({ life, record }: RecordedTemplate): Promise<void> {
  const { quietMs, quietLookMs } = life.times;
  for (const until = Date.now() + quietMs; Date.now() < until; await sleep(quietLookMs)) {
    const { count } = await control.createsUnderWay({ hostId: record.hostId });
    if (count === 0) return;
  }
}

/** Compares the requested key with the source as it is now. @throws ApplicationFailure template_failed */
async function assertUnchanged({ life, record }: RecordedTemplate): Promise<void> {
  const { templateKey } = await inspectTemplate(life.input, null);
  if (templateKey !== record.key) throw refusal('template_failed', 'What it would be made of has changed since.');
}

async function recordGone(task: RecordedTemplate): Promise<void> {
  const reason = task.life.isCancelled ? 'Its workflow was cancelled.' : 'It was deleted while it was built.';
  await task.recordChange({ state: 'gone', reason, waitingFor: null }, 'template.gone');
}

async function recordFailed(task: RecordedTemplate, error: unknown): Promise<void> {
  const { step, message } = failureOf(error, task.failedStep);
  const retryAt = task.life.noteFailure();
  await task.recordChange(
    { state: 'failed', reason: `${step}: ${message}`, retryAt, waitingFor: null },
    'template.failed',
  );
  task.life.failed = task;
}
