import { createHash } from 'node:crypto';
import { closeGroup, type GatheringRun, selectNewest } from '../../../model/functions/gathering.ts';
import { deriveRunId, type GatheredEvent, type RunRecord } from '../../../model/functions/run.ts';
import { LIMITS } from '../../../model/limits.ts';
import { steadyClock } from '../../../model/steady-clock.ts';
import type { Store } from '../../../store/connect.ts';
import { isGathering } from '../../../store/functions/run-place.ts';

/** Number of concurrent writes. */
const AT_ONCE = 50;
/** Maximum number per group and poll. */
const CLOSED = 20;

/**
 * Turns events that have gathered long enough into runs. One run records the plan for its group first, so another
 * process can finish it.
 */
export class GatheredEvents {
  constructor(private readonly store: Pick<Store, 'gatheredRuns' | 'runs'>) {}

  /**
   * @param run due run, whose group this poll has not handled
   * @returns true when a run may have been queued
   */
  async look(run: RunRecord, now: string): Promise<boolean> {
    const { gatheredRuns } = this.store;
    if (run.isBatch) {
      await this.#queueBatch(run);
      return true;
    }
    if (!isGathering(run)) {
      await gatheredRuns.gather(run);
      return false;
    }
    let closed = 0;
    for (; closed < CLOSED; closed++) {
      const group = await gatheredRuns.group(run, LIMITS.functions.debounced);
      const claimed = group.find(({ events }) => events.length > 0);
      if (claimed) {
        await this.#queueNewest(claimed);
        continue;
      }
      const next = closeGroup(group, Date.parse(now));
      if ('until' in next) {
        await gatheredRuns.postpone(run, now, new Date(next.until).toISOString());
        break;
      }
      await this.#close(group.slice(0, next.closed));
    }
    return closed > 0;
  }

  async #close([first, ...rest]: RunRecord[]): Promise<void> {
    if (!first) return;
    const members = [first, ...rest] as const;
    const events = members.map(eventOf);
    if (first.gathering?.kind === 'batch') {
      const batch = await this.#findOrCreateBatch(first, events);
      return batch ? this.#queueBatch(batch) : undefined;
    }
    const newest = selectNewest<RunRecord & GatheringRun>([...members]);
    await this.store.gatheredRuns.claim(newest.id, events);
    await this.#queueNewest({ ...newest, events });
  }

  /** Returns the recorded batch that starts with this event; null: another batch has the event. */
  async #findOrCreateBatch(first: RunRecord, events: GatheredEvent[]): Promise<RunRecord | null> {
    const { runs } = this.store;
    for (let epoch = 0; ; epoch++) {
      const batch = batchOf(first, events, epoch);
      const known = (await runs.accept(batch, null)) ? batch : await runs.get(batch.id);
      if (known?.state === 'delayed') return known;
      const latest = await runs.get(first.id);
      if (!latest || !isGathering(latest)) return null; // else that batch was cancelled before it had the event
    }
  }

  /** Queues the newest run of a group after the others have ended. */
  async #queueNewest(run: RunRecord): Promise<void> {
    const at = steadyClock.iso();
    const why = { outcome: 'skipped', skippedFor: 'superseded', supersededBy: run.id } as const;
    const others = run.events.filter(({ runId }) => runId !== run.id);
    for (let n = 0; n < others.length; n += AT_ONCE) {
      await Promise.all(
        others
          .slice(n, n + AT_ONCE)
          .map(({ runId }) =>
            this.store.runs.end(runId, ['delayed'], { ...why, endedAt: at, updatedAt: at }, run.retentionDays),
          ),
      );
    }
    await this.store.gatheredRuns.release(run, { events: run.events, eventBytes: run.eventBytes });
  }

  /** Queues a batch with those of its events that are neither cancelled nor in another batch. */
  async #queueBatch(batch: RunRecord): Promise<void> {
    if (batch.state !== 'delayed') return;
    const { gatheredRuns, runs } = this.store;
    const joined = await Promise.all(batch.events.map(({ runId }) => gatheredRuns.join(runId, batch.id)));
    const events = batch.events.filter((_, n) => joined[n]);
    if (events.length > 0) return gatheredRuns.release(batch, { events, eventBytes: bytesOf(events) });
    const at = steadyClock.iso();
    await runs.end(batch.id, ['delayed'], { outcome: 'cancelled', endedAt: at, updatedAt: at }, batch.retentionDays);
  }
}

function eventOf({ id: runId, event, eventBytes: bytes }: RunRecord): GatheredEvent {
  return { runId, ...event, bytes };
}

/** Returns the bytes of the events and the separators between them. */
function bytesOf(events: readonly GatheredEvent[]): number {
  return events.reduce((sum, { bytes }) => sum + bytes + 1, 1);
}

/** Makes the batch of a first event. Deterministic: every process makes the same one. */
function batchOf(first: RunRecord, events: GatheredEvent[], epoch: number): RunRecord {
  const at = steadyClock.iso();
  const { project, function: name } = first;
  const dedupe = createHash('sha256')
    .update(JSON.stringify([project, name, 'batch', first.id]))
    .digest('hex');
  const id = deriveRunId(dedupe, epoch);
  return {
    ...first,
    id,
    state: 'delayed',
    waitingFor: null,
    event: { id, source: `/projects/${project}/functions/${name}`, type: 'mayfly.batch', time: null },
    eventBytes: bytesOf(events),
    eventDigest: dedupe,
    dedupe,
    epoch,
    dedupeUntil: at,
    acceptedAt: at,
    updatedAt: at,
    dueAt: null,
    gathering: null,
    gatheringKey: null,
    events,
    isBatch: true,
    batch: null,
  };
}
