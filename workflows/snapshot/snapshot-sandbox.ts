import type { SnapshotOperation } from '../../model/sagas/messages.ts';
import type { Life } from '../life/life.ts';
import type { OperationRun } from '../life/operation-run.ts';
import { stepsOn } from '../life/operation-steps.ts';
import { takeSnapshot } from './take-snapshot.ts';

/** A snapshot that somebody asked for, or that a comparison needs. */
export async function snapshotSandbox(
  life: Life,
  run: OperationRun,
  { operationId, name, snapshotKind, reason = 'requested', actor }: SnapshotOperation,
  generation: number,
): Promise<void> {
  const wish = { id: operationId, name, kind: snapshotKind, reason, actor };
  await takeSnapshot(life, stepsOn(life, generation), wish, () => run.accept());
}
