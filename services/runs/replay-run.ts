import { MayflyError } from '../../model/errors.ts';
import type { ReceivedEvent } from '../../model/events/cloud-event.ts';
import { parseEditedEvent } from '../../model/events/edited-event.ts';
import { readJson } from '../../model/events/json/json-text.ts';
import { readStructured } from '../../model/events/structured-mode.ts';
import { isDeadLetter, type RunRecord } from '../../model/functions/run.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { type DedupeKey, type IngestResult, sha256 } from '../intake/accept-event.ts';
import type { EventIntake } from '../intake/acceptance.ts';
import type { CachedFunction } from '../intake/function-cache.ts';
import type { ServiceDeps } from '../service-deps.ts';

/** Intake of events: the API's {@link EventIntake}, or a subset of it. */
export type ReplayIntake = Pick<EventIntake, 'target' | 'accept'>;
type Stores = Pick<ServiceDeps, 'store'>;
/** Version of the function that a replay runs: the run's own, or the one active now. */
export const VERSIONS = ['same', 'current'] as const;
type Version = (typeof VERSIONS)[number];

interface Replay {
  version: Version;
  /** JSON that replaces the event of the run; undefined: none. */
  event?: string | undefined;
  /** Dedupe key among replays. */
  sameness: DedupeKey;
  actor: Actor;
}

/**
 * Accepts the event of a run again, or an edited one. A replay is never deduplicated against original events.
 * @throws MayflyError run_is_batch, invalid_event, idempotency_key_reused, function_gone, and as
 *   {@link EventIntake.accept}
 */
export async function replayed(
  stores: Stores,
  acceptance: ReplayIntake,
  run: RunRecord,
  { version, event: edited, sameness, actor }: Replay,
): Promise<IngestResult> {
  refuseBatch(run);
  const target = await targetOf(stores, acceptance, run, version);
  const event = edited === undefined ? await eventOf(stores, run) : parseEditedEvent(edited, run.event);
  const asked = JSON.stringify([run.id, version, edited === undefined ? null : sha256(event.json)]);
  return acceptance.accept(stores, target, {
    event,
    sameness,
    digest: sha256(asked),
    origin: { replayOf: run.id, redriveOf: null },
    actor,
  });
}

/**
 * Accepts the event of a dead letter again, and marks that run. The new run's id is derived from the old one: a retry,
 * also after a crash in between, returns the same run.
 * @throws MayflyError run_is_batch, not_dead_letter, function_gone, and as {@link EventIntake.accept}
 */
export async function redriven(
  stores: Stores,
  acceptance: ReplayIntake,
  run: RunRecord,
  { version, actor }: Pick<Replay, 'version' | 'actor'>,
): Promise<IngestResult> {
  refuseBatch(run);
  const { store } = stores;
  const present = run.redrivenAs === null ? null : await store.runs.get(run.redrivenAs);
  if (present) return { run: present, isNew: false };
  if (!isDeadLetter(run)) throw new MayflyError('not_dead_letter', whyNone(run));
  const target = await targetOf(stores, acceptance, run, version);
  const accepted = await acceptance.accept(stores, target, {
    event: await eventOf(stores, run),
    sameness: { by: 'run', text: `redrive/${run.id}` },
    digest: run.eventDigest,
    origin: { replayOf: run.id, redriveOf: run.id },
    actor,
  });
  await store.runs.redriven(run.id, accepted.run.id);
  return accepted;
}

/** @throws MayflyError run_is_batch */
function refuseBatch({ id, isBatch, events }: RunRecord): void {
  if (isBatch)
    throw new MayflyError('run_is_batch', `${id} has the events of ${events.length} runs, and none of its own.`);
}

function whyNone({ id, state, outcome, redrivenAs }: RunRecord): string {
  if (redrivenAs !== null) return `${id} was redriven as ${redrivenAs}, which was removed since.`;
  return `${id} is ${outcome ?? state}.`;
}

/** @throws MayflyError function_not_found, function_draining, function_gone */
async function targetOf(
  stores: Stores,
  acceptance: ReplayIntake,
  run: RunRecord,
  version: Version,
): Promise<CachedFunction> {
  const current = await acceptance.target(stores, run.function);
  if (version === 'current') return current;
  const same = await stores.store.functionVersions.get(run.function, run.version);
  if (same?.digest === run.versionDigest) return { ...current, version: same };
  throw new MayflyError('function_gone', `Version ${run.version} of ${run.function} is not there any more.`);
}

/** @throws MayflyError run_not_found */
async function eventOf({ store }: Stores, run: RunRecord): Promise<ReceivedEvent> {
  const json = await store.runs.event(run);
  if (!json) throw new MayflyError('run_not_found', `${run.id} was removed, and its event with it.`);
  return readStructured(readJson(json));
}

/** Returns the dedupe key of a replay, per API key. @param key undefined: never a duplicate */
export function replayDedupeKey(apiKeyId: string, key: string | undefined): DedupeKey {
  return { by: 'key', text: key === undefined ? null : JSON.stringify(['replay', apiKeyId, key]) };
}

/** Returns replay and redrive for workers, deduplicated without an Idempotency-Key. */
export function createReplays(door: ReplayIntake) {
  return {
    replay: (
      store: ProjectStore,
      run: RunRecord,
      { once, ...of }: Pick<Replay, 'version' | 'actor'> & { once: string },
    ) => replayed({ store }, door, run, { ...of, sameness: { by: 'run', text: `replay/${once}` } }),
    redrive: (store: ProjectStore, run: RunRecord, of: Pick<Replay, 'version' | 'actor'>) =>
      redriven({ store }, door, run, of),
  };
}
