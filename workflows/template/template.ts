import type { TemplateInput } from '../../model/templates/template-saga.ts';
import { buildTemplate } from './build-template.ts';
import { recallTemplate, removeTemplate } from './remove-template.ts';
import { type RecordedTemplate, TemplateState } from './template-life.ts';
import { type TemplateEnd, watchTemplate } from './watch-template.ts';

/**
 * Maintains the templates of one key on one host, while one exists or is requested:
 *
 *   building → verifying → ready → stale → removing → gone      (build-template.ts, watch-template.ts, remove-template.ts)
 *        └─────────┴─────→ failed → gone, and another is built from `retryAt` on if requested
 *
 * Its workflow id prevents two at once. An old template is replaced before its removal; if that fails, it is removed
 * anyway.
 */
export async function template(input: TemplateInput): Promise<void> {
  const life = new TemplateState(input);
  let ready = await recallTemplate(life);
  for (;;) {
    if (ready === null) {
      if (!(await life.untilWanted())) return;
      ready = await buildTemplate(life, null);
      continue;
    }
    const end = await watchTemplate(ready);
    if (end === null) await life.continueAsNew(ready);
    else ready = await replaceTemplate(life, ready, end);
  }
}

/** @returns the successor; null: none */
async function replaceTemplate(
  life: TemplateState,
  task: RecordedTemplate,
  end: TemplateEnd,
): Promise<RecordedTemplate | null> {
  const { kind, reason } = end;
  const next = kind === 'old' ? await buildTemplate(life, task.record.lastUsedAt) : null;
  if (next === null) life.usedAt = null;
  if (kind === 'failing') life.noteFailure();
  if (kind === 'deleted') life.forgetFailures();
  if (kind === 'elsewhere') await task.recordChange({ state: 'gone', reason }, 'template.gone');
  else if (kind === 'deleted') await removeTemplate(task, reason);
  else {
    await task.recordChange({ state: 'stale', reason }, 'template.stale');
    await removeTemplate(task, reason);
  }
  return next;
}
