import type { StepContext } from '../../host/step-context.ts';
import { type CheckOutcome, compareCheck } from '../../model/playbook/compare-check.ts';
import type { WrittenSummary } from '../../model/playbook/playbook.ts';
import { type ComparedSnapshots, differencesOf } from './differences.ts';
import { systemTexts } from './system-texts.ts';

export interface Tried {
  /** Fresh sandbox before and after the playbook. */
  fresh: string;
  applied: string;
  now: string;
}

/**
 * Returns the effect of a playbook, from the remaining differences.
 * @throws MayflyError playbook_failed, diff_failed
 */
export async function compareOnHost(
  snapshots: ComparedSnapshots,
  { fresh, now, applied }: Tried,
  { left, variables }: Pick<WrittenSummary, 'left' | 'variables'>,
  context: StepContext,
): Promise<CheckOutcome> {
  const wanted = await differencesOf(snapshots, { before: fresh, after: now }, context);
  const remaining = await differencesOf(snapshots, { before: now, after: applied }, context);
  context.alive('reading what the systems say');
  const texts = {
    fresh: await systemTexts(snapshots, fresh, context.signal),
    now: await systemTexts(snapshots, now, context.signal),
    applied: await systemTexts(snapshots, applied, context.signal),
  };
  return compareCheck({ wanted: wanted.changes, remaining: remaining.changes, texts, known: left, variables });
}
