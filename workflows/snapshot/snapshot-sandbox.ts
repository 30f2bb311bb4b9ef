import type { SnapshotOperation } from '../../model/sagas/messages.ts';
import type { SandboxEntity } from '../entity/entity.ts';
import type { OperationRun } from '../entity/operation-run.ts';
import { stepsOn } from '../entity/operation-steps.ts';
import { takeSnapshot } from './take-snapshot.ts';

/** A snapshot that somebody asked for, that a comparison needs, or that is kept of a failed run. */
export async function snapshotSandbox(
  entity: SandboxEntity,
  run: OperationRun,
  { operationId, name, snapshotKind, reason = 'requested', keptOf, actor }: SnapshotOperation,
  generation: number,
): Promise<void> {
  const wish = { id: operationId, name, kind: snapshotKind, reason, actor, ...(keptOf && { keptOf }) };
  await takeSnapshot(entity, stepsOn(entity, generation), wish, () => run.accept());
}
