import type { SnapshotOperation } from '../../model/sagas/messages.ts';
import type { Life } from '../life/life.ts';
import type { OperationRun } from '../life/operation-run.ts';
import { stepsOn } from '../life/operation-steps.ts';
import { takeSnapshot } from './take-snapshot.ts';

/** A snapshot that somebody asked for, that a comparison needs, or that is kept of a failed run. */
export async function snapshotSandbox(
  life: Life,
  run: OperationRun,
  { operationId, name, snapshotKind, reason = 'requested', keptOf, actor }: SnapshotOperation,
  generation: number,
): Promise<void> {
  const wish = { id: operationId, name, kind: snapshotKind, reason, actor, ...(keptOf && { keptOf }) };
  await takeSnapshot(life, stepsOn(life, generation), wish, () => run.accept());
}
