import { condition, log } from '@temporalio/workflow';
import type { TemplateInspection } from '../../activities/template/template.ts';
import { MAX_WAKES } from '../../model/templates/template-saga.ts';
import { shouldContinueAsNew } from '../saga/continue-as-new.ts';
import type { RecordedTemplate } from './template-life.ts';
import { inspectTemplate } from './template-steps.ts';

const END_REASONS = {
  deleted: 'It was deleted.',
  cancelled: 'Its workflow was cancelled.',
  old: 'It was old, or had been woken from often.',
  unused: 'Nobody has woken from it for long.',
  changed: 'What it is made of has changed.',
  failing: 'Its host does not wake from it any more.',
  elsewhere: 'Another installation has its host id now; nobody has looked at the one of before.',
} as const;

/** End of a ready template, and its reason. `old`: another one replaces it. */
export interface TemplateEnd {
  kind: keyof typeof END_REASONS;
  reason: string;
}

/** Watches a ready template. Resolves when it must be removed; null: when the run shall continue as new. */
export async function watchTemplate(task: RecordedTemplate): Promise<TemplateEnd | null> {
  const { life, record } = task;
  const isToGo = () => life.isToGo(record.id);
  life.usedAt ??= Date.parse(record.lastUsedAt ?? record.readyAt ?? record.createdAt);
  for (;;) {
    if (isToGo()) return endWith(life.isCancelled ? 'cancelled' : 'deleted');
    if (life.isElsewhere) return endWith('elsewhere');
    life.isToLook = false;
    const end = await inspectOnce(task);
    if (end) return end;
    if (shouldContinueAsNew() && !isToGo()) return null;
    await condition(() => isToGo() || life.isToLook, life.times.lookMs);
  }
}

/** Inspects it once. A silent host wakes no sandbox either: it is retried later. */
async function inspectOnce(task: RecordedTemplate): Promise<TemplateEnd | null> {
  try {
    const look = await inspectTemplate(task.life.input, task.record.id);
    await recordUse(task, look);
    return endOf(task, look);
  } catch (error) {
    log.info('a template was not looked at', { templateId: task.record.id, why: String(error) });
    return null;
  }
}

async function recordUse(task: RecordedTemplate, { use }: TemplateInspection): Promise<void> {
  const { life, record } = task;
  const lastUsedAt = use?.lastUsedAt ?? record.lastUsedAt;
  if (!use || (use.wakes === record.wakes && lastUsedAt === record.lastUsedAt)) return;
  if (use.failuresInARow === 0) life.forgetFailures();
  if (lastUsedAt !== null) life.usedAt = Date.parse(lastUsedAt);
  await task.recordChange({ wakes: use.wakes, lastUsedAt });
}

function endOf({ life, record }: RecordedTemplate, { templateKey, use }: TemplateInspection): TemplateEnd | null {
  if (templateKey !== record.key) return endWith('changed');
  if (!use?.isReady) return endWith('failing', use?.lastFailure);
  const { oldMs, unusedMs } = life.times;
  if (Date.now() - (life.usedAt ?? 0) > unusedMs) return endWith('unused');
  if (Date.now() - Date.parse(record.savedAt ?? record.createdAt) > oldMs) return endWith('old');
  if (use.wakes >= MAX_WAKES) return endWith('old');
  life.wish = null; // a request that came too early finds it now
  return null;
}

function endWith(kind: TemplateEnd['kind'], more: string | null = null): TemplateEnd {
  return { kind, reason: more === null ? END_REASONS[kind] : `${END_REASONS[kind]} ${more}` };
}
