import type { TemplateInput } from '../../model/templates/template-saga.ts';
import { buildTemplate } from './build-template.ts';
import { recallTemplate, removeTemplate } from './remove-template.ts';
import { TemplateLife } from './template-life.ts';
import type { RecordedTemplate } from './template-record.ts';
import { type TemplateEnd, watchTemplate } from './watch-template.ts';

const SAID: Record<TemplateEnd, string> = {
  deleted: 'It was deleted.',
  old: 'It was old, or had been woken from often.',
  unused: 'Nobody has woken from it for long.',
  changed: 'What it is made of has changed.',
  failing: 'Its host does not wake from it any more.',
  elsewhere: 'Another installation has its host id now; nobody has looked at the one of before.',
};

/**
 * The templates of one key on one host, while there is one, or somebody wants one:
 *
 *   building → verifying → ready → stale → removing → gone      (build-template.ts, watch-template.ts, remove-template.ts)
 *        └─────────┴─────→ failed → gone, and another is begun at `retryAt` if somebody asks again
 *
 * Its workflow id keeps a second one from being built beside it. What is old is replaced before it goes; where that
 * cannot be done it goes all the same.
 */
export async function template(input: TemplateInput): Promise<void> {
  const life = new TemplateLife(input);
  let ready = await recallTemplate(life);
  for (;;) {
    if (ready === null) {
      if (!(await life.untilWanted())) return;
      ready = await buildTemplate(life, null);
      continue;
    }
    const end = await watchTemplate(ready);
    if (end === null) await life.continueAsNew(ready);
    else ready = await succeed(life, ready, end);
  }
}

/** @returns the one that has taken its place */
async function succeed(life: TemplateLife, task: RecordedTemplate, end: TemplateEnd): Promise<RecordedTemplate | null> {
  if (end === 'failing') life.noteFailure();
  if (end === 'deleted') life.forgetFailures();
  if (end === 'elsewhere') {
    await task.recordChange({ state: 'gone', reason: SAID[end] }, 'template.gone');
    return null;
  }
  const next = end === 'old' ? await buildTemplate(life, task.record.lastUsedAt) : null;
  if (end !== 'deleted') await task.recordChange({ state: 'stale', reason: SAID[end] }, 'template.stale');
  await removeTemplate(task, SAID[end]);
  return next;
}
