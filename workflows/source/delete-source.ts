import type { ErrorCode } from '../../model/errors.ts';
import type { DeleteSourceInput } from '../../model/snapshots/bake-saga.ts';
import type { BakedSource } from '../../model/snapshots/baked-source.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { onHost } from '../saga/host-activities.ts';
import { undoProfile } from '../saga/profiles.ts';
import { BakeTask } from './bake-life.ts';

/** Codes with which the source stays unchanged. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['source_in_use', 'source_running', 'source_not_baked']);

/**
 * Deletes a baked source:
 *
 *   deleting → removeSource, until success → its host no longer lists it → deleted
 *
 * Refused while something refers to it: only the host knows, so it checks and removes in one step.
 */
export async function deleteSource(input: DeleteSourceInput): Promise<BakedSource> {
  const { sourceId, hostId, name } = input;
  const life = new BakeTask(input);
  await life.recordChange({ state: 'deleting', failure: null }, { kind: 'source.deleting', detail: {} });
  const summary = `${name} on ${hostId}`;
  const target = { sandboxId: sourceId, generation: life.generation, sourceId, name };
  const refusal = await life.retryUntilDone('removeSource', async (n) => {
    try {
      await onHost(input, { ...undoProfile(n), summary }).removeSource(target);
      return null;
    } catch (error) {
      const failure = failureOf(error, 'removeSource');
      if (REFUSALS.has(failure.code)) return failure;
      throw error;
    }
  });
  if (refusal) {
    const state = refusal.code === 'source_not_baked' ? 'deleted' : 'ready';
    const entry = { kind: 'source.delete-refused', detail: { ...refusal } } as const;
    return refusedOrFailed(refusal, ['removeSource'], await life.recordChange({ state, failure: refusal }, entry));
  }
  await life.listed(false);
  return life.recordChange({ state: 'deleted', image: null, waitingFor: null }, { kind: 'source.deleted', detail: {} });
}
