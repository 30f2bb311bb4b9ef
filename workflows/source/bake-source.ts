import type { SandboxInput } from '../../model/sagas/messages.ts';
import { type BakeSourceInput, requestedBake } from '../../model/snapshots/bake-saga.ts';
import type { BakedImage, BakedSource } from '../../model/snapshots/baked-source.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { BakeLife } from './bake-life.ts';
import { taskSteps, taskUndos } from './task-life.ts';
import { TaskSandbox } from './task-sandbox.ts';

/** TTL of a builder that nobody else ends any more, s. */
const TTL_SECONDS = 7_200;

/** Images are copied, checked and read once more: at 100 MB/s one of 60 GB takes half an hour. */
const WITHIN_MS = 40 * MINUTE_MS;

/**
 * From a snapshot to a source that refers to nothing of it:
 *
 *   claim the name → builder (a fork, without internet) → cleaned → shut down → copied → published → builder destroyed
 *
 * The guest's file systems are changed in the guest, never by the host. The images appear under the source's name in one
 * rename, checked, and the machine that uses them is made after that. Where the host has a source that was made of the same
 * snapshot, its images are copied instead, and nothing is booted. When a step fails, the undos run newest first until
 * they hold, and nothing of it is left. `ready` is said when the host lists the source.
 */
export async function bakeSource(input: BakeSourceInput): Promise<BakedSource> {
  const { sourceId, name } = input;
  const life = new BakeLife(input);
  const begun = await life.begin(requestedBake(input));
  if (begun.state !== 'baking') return begun;
  const builder = builderOf(input);
  const destroyBuilder = () => life.retryUntilDone('destroyBuilder', () => builder.destroy());
  const { bakeId, snapshot, builderId } = input;
  const target = { sandboxId: sourceId, bakeId, sourceId, name, snapshotId: snapshot.id, builderId };
  const summary = `${snapshot.id} → ${name} on ${input.hostId}`;
  const step = taskSteps(life, input, target, { ...PROFILE.step(WITHIN_MS, { totalMs: 2 * WITHIN_MS }), summary });
  const undos = taskUndos(life, input, target, summary);
  let isBuilt = false;
  const build = async (): Promise<BakedImage> => {
    isBuilt = true;
    await life.step('startBuilder', () => builder.start());
    await step.cleanGuest();
    await step.shutDownGuest();
    return step.flattenDisks();
  };
  let image: BakedImage;
  try {
    const make = async (undo: Undo) => {
      undo('startBuilder', destroyBuilder); // first, for a workflow that is reset and cancelled before this step
      undo('claimSourceName', () => undos.discardImages());
      await step.claimSourceName();
      const copied = input.like === undefined ? null : await step.copyBakedSource({ like: input.like });
      const made = copied ?? (await build());
      undo('publishSource', () => undos.retractSource());
      await step.publishSource();
      return made;
    };
    image = await untilCancelled(() => saga(make));
  } catch (error) {
    const failure = failureOf(error, life.failedStep);
    const detail = { failure, snapshotId: snapshot.id };
    const said = { kind: 'source.bake-failed', detail } as const;
    const failed = await life.recordChange({ state: 'failed', failure, waitingFor: null }, said);
    return refusedOrFailed(failure, ['claimSourceName', 'startBuilder'], failed);
  }
  if (isBuilt) await destroyBuilder();
  await life.listed(true);
  return life.recordChange(
    { state: 'ready', image, readyAt: now(), waitingFor: null },
    { kind: 'source.baked', detail: { snapshotId: snapshot.id, image } },
  );
}

/** The sandbox in which a snapshot is cleaned, with no way to the internet. */
function builderOf(bake: BakeSourceInput): TaskSandbox {
  const { builderId: id, hostId, installationId, snapshot, name, actor, requestedAt, timeouts, size } = bake;
  const spec = {
    source: snapshot.source,
    snapshotId: snapshot.id,
    cpus: null,
    memoryMib: null,
    ttlSeconds: TTL_SECONDS,
    idleSeconds: null,
    autoResume: false,
    metadata: { purpose: `bakes the source ${name}` },
    agentId: null,
    network: { egress: 'none' },
  } as const;
  const input: SandboxInput = {
    id,
    spec,
    ...(size && { size }),
    ...(timeouts && { timeouts }),
    createdBy: actor,
    requestedAt,
    begin: 'create',
    hosts: [{ hostId, installationId }],
    mayBeOff: true,
    builds: 'source',
  };
  return new TaskSandbox(input, 'bake_failed');
}
