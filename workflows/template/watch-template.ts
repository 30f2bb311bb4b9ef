import { condition, log } from '@temporalio/workflow';
import type { TemplateLook } from '../../activities/template/template.ts';
import { MOST_WAKES } from '../../model/templates/template.ts';
import { shallContinue } from '../saga/continuing.ts';
import type { RecordedTemplate } from './template-record.ts';
import { lookAtTemplate } from './template-steps.ts';

/** Why a template that was ready does not stay. `old`: another takes its place. */
export type TemplateEnd = 'deleted' | 'old' | 'unused' | 'changed' | 'failing' | 'elsewhere';

/** Resolves when it is to go; null: when the run shall continue as new. */
export async function watchTemplate(task: RecordedTemplate): Promise<TemplateEnd | null> {
  const { life } = task;
  const isToGo = () => life.isToGo(task.record.id);
  for (;;) {
    if (isToGo()) return 'deleted';
    if (life.isElsewhere) return 'elsewhere';
    life.isToLook = false;
    const end = await lookOnce(task);
    if (end) return end;
    if (shallContinue()) return null;
    await condition(() => isToGo() || life.isToLook, life.times.lookMs);
  }
}

/** A host that does not answer wakes nobody either: it is asked again later. */
async function lookOnce(task: RecordedTemplate): Promise<TemplateEnd | null> {
  try {
    const look = await lookAtTemplate(task.life.input, task.record.id);
    await recordUse(task, look);
    return endOf(task, look);
  } catch (error) {
    log.info('a template was not looked at', { templateId: task.record.id, why: String(error) });
    return null;
  }
}

async function recordUse(task: RecordedTemplate, { use }: TemplateLook): Promise<void> {
  const { wakes, lastUsedAt } = task.record;
  if (!use || (use.wakes === wakes && (use.lastUsedAt ?? lastUsedAt) === lastUsedAt)) return;
  if (use.failuresInARow === 0) task.life.forgetFailures();
  await task.recordChange({ wakes: use.wakes, lastUsedAt: use.lastUsedAt ?? lastUsedAt });
}

function endOf({ life, record }: RecordedTemplate, { templateKey, use }: TemplateLook): TemplateEnd | null {
  if (templateKey !== record.key) return 'changed';
  if (!use?.isReady) return 'failing';
  const { oldMs, unusedMs } = life.times;
  const since = (at: string | null) => Date.now() - Date.parse(at ?? record.readyAt ?? record.createdAt);
  if (since(record.lastUsedAt) > unusedMs) return 'unused';
  if (since(record.savedAt) > oldMs || use.wakes >= MOST_WAKES) return 'old';
  life.wish = null; // who asked has come too early, and finds it now
  return null;
}
