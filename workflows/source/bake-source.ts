import type { SandboxInput } from '../../model/sagas/messages.ts';
import { type BakeSourceInput, newBakeRecord } from '../../model/snapshots/bake-saga.ts';
import type { BakedImage, BakedSource } from '../../model/snapshots/baked-source.ts';
import { untilCancelled } from '../saga/cancellation.ts';
import { failureOf, refusedOrFailed } from '../saga/failure.ts';
import { now } from '../saga/now.ts';
import { MINUTE_MS, PROFILE } from '../saga/profiles.ts';
import { saga, type Undo } from '../saga/saga.ts';
import { BakeTask } from './bake-life.ts';
import { taskCompensations, taskSteps } from './task-life.ts';
import { TaskSandbox } from './task-sandbox.ts';

/** TTL of a builder that its task fails to destroy, s. */
const TTL_SECONDS = 7_200;

/** Timeout of copying, checking and rereading images: at 100 MB/s, 60 GB take half an hour. */
const WITHIN_MS = 40 * MINUTE_MS;

/**
 * Bakes a snapshot into a source that does not depend on it:
 *
 *   claim the name → builder (a fork, without internet) → cleaned → shut down → copied → published → builder destroyed
 *
 * The guest changes its own file systems; the host never does. Verified images appear under the source's name in one
 * rename, and the machine that uses them is made after that. When the host has a source of the same snapshot, its
 * images are copied and nothing boots. When a step fails, compensations run newest first until success. `ready` means
 * that the host lists the source.
 */
export async function bakeSource(input: BakeSourceInput): Promise<BakedSource> {
  const { sourceId, name } = input;
  const life = new BakeTask(input);
  const recorded = await life.begin(newBakeRecord(input));
  if (recorded.state !== 'baking') return recorded;
  const builder = builderOf(input);
  const destroyBuilder = () => life.retryUntilDone('destroyBuilder', () => builder.destroy());
  const { bakeId, snapshot, builderId } = input;
  const target = { sandboxId: sourceId, bakeId, sourceId, name, snapshotId: snapshot.id, builderId };
  const summary = `${snapshot.id} → ${name} on ${input.hostId}`;
  const step = taskSteps(life, input, target, { ...PROFILE.step(WITHIN_MS, { totalMs: 2 * WITHIN_MS }), summary });
  const undos = taskCompensations(life, input, target, summary);
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
      undo('startBuilder', destroyBuilder); // first, for a workflow reset and cancelled before this step
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
    const entry = { kind: 'source.bake-failed', detail } as const;
    const failed = await life.recordChange({ state: 'failed', failure, waitingFor: null }, entry);
    return refusedOrFailed(failure, ['claimSourceName', 'startBuilder'], failed);
  }
  if (isBuilt) await destroyBuilder();
  await life.listed(true);
  return life.recordChange(
    { state: 'ready', image, readyAt: now(), waitingFor: null },
    { kind: 'source.baked', detail: { snapshotId: snapshot.id, image } },
  );
}

/** Returns the sandbox in which a snapshot is cleaned, without egress. */
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
