import type { ActivityOptions } from '@temporalio/workflow';
import type { BakeSourceInput } from '../../model/snapshots/baked-source.ts';
import { type BakeLife, UNTIL_DONE } from './bake-life.ts';
import { taskSteps } from './task-life.ts';

/** Images are copied, checked and read once more: at 100 MB/s one of 60 GB takes half an hour. */
const STEP: ActivityOptions = {
  scheduleToStartTimeout: '30s',
  startToCloseTimeout: '40m',
  scheduleToCloseTimeout: '80m',
  heartbeatTimeout: '4s',
  retry: { initialInterval: '200ms', maximumInterval: '2s', maximumAttempts: 5 },
};

/** The steps of one bake on its host, each with the line that operators read in the Temporal UI. */
export function bakeSteps(life: BakeLife, { bakeId, snapshot, builderId }: BakeSourceInput) {
  const { sourceId, host, name, generation } = life;
  const request = { bakeId, sourceId, name, snapshotId: snapshot.id, builderId };
  const target = { sandboxId: sourceId, generation, ...request };
  const gone = { ...target, generation: generation + 1 };
  const summary = `${snapshot.id} → ${name} on ${host.hostId}`;
  const { step, undo } = taskSteps(life, host, { step: STEP, undo: UNTIL_DONE, summary });

  return {
    claimSourceName: () => step.claimSourceName(target),
    cleanGuest: () => step.cleanGuest(target),
    shutDownGuest: () => step.shutDownGuest(target),
    flattenDisks: () => step.flattenDisks(target),
    copyBakedSource: (like: string) => step.copyBakedSource({ ...target, like }),
    publishSource: () => step.publishSource(target),

    discardImages: () => undo.discardImages(gone),
    retractSource: () => undo.retractSource(gone),
  };
}
