import { type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import type { HostActivities } from '../../activities/host.ts';
import { hostQueue } from '../../model/sagas/queues.ts';
import type { BakeSourceInput } from '../../model/snapshots/baked-source.ts';
import { type BakeLife, UNTIL_DONE } from './bake-life.ts';

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
  const { sourceId, hostId, name, generation } = life;
  const host = proxyActivities<HostActivities>({ ...STEP, taskQueue: hostQueue(hostId) });
  const request = { bakeId, sourceId, name, snapshotId: snapshot.id, builderId };
  const target = { sandboxId: sourceId, generation, ...request };
  const gone = { ...target, generation: generation + 1 };
  const options = { ...STEP, summary: `${snapshot.id} → ${name} on ${hostId}` };
  const untilDone = { ...UNTIL_DONE, summary: `${name} on ${hostId}` };

  const step = (what: 'claimSourceName' | 'cleanGuest' | 'shutDownGuest' | 'publishSource') => () =>
    life.step(what, () => host[what].executeWithOptions(options, [target]));
  const undo = (what: 'discardImages' | 'retractSource') => () =>
    life.retryUntilDone(what, () => host[what].executeWithOptions(untilDone, [gone]));

  return {
    claimSourceName: step('claimSourceName'),
    cleanGuest: step('cleanGuest'),
    shutDownGuest: step('shutDownGuest'),
    flattenDisks: () => life.step('flattenDisks', () => host.flattenDisks.executeWithOptions(options, [target])),
    publishSource: step('publishSource'),

    discardImages: undo('discardImages'),
    retractSource: undo('retractSource'),
  };
}
