import { countedBytes, isLargeEvent } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { InputSchemas } from '../schema/input-schemas.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type Accepted, type Arrival, acceptEvent } from './accept-event.ts';
import { BacklogLimit } from './backlog-limit.ts';
import { DispatcherBell } from './dispatcher-bell.ts';
import { FunctionCache, type KnownFunction } from './function-cache.ts';

/** Accepted runs of one key before its backlog is counted: most keys have few, and are never counted. */
const KEY_COUNTED_AFTER = 100;

type Stores = Pick<ServiceDeps, 'store'>;

/** What every door takes events by: one for each API process, since it knows functions and tells their dispatchers. */
export class Acceptance {
  readonly #known = new FunctionCache();
  readonly #bell: DispatcherBell;
  readonly #projects: BacklogLimit;
  readonly #keys: BacklogLimit;

  constructor(
    { sagas, logger, queueLimits }: Pick<ServiceDeps, 'sagas' | 'logger' | 'queueLimits'>,
    readonly schemas: InputSchemas,
  ) {
    this.#bell = new DispatcherBell(sagas, logger);
    const { queued, queuedBytes, queuedOfKey } = LIMITS.functions;
    this.#projects = new BacklogLimit(logger, { most: queueLimits ?? { runs: queued, bytes: queuedBytes } });
    const most = { runs: queueLimits?.runsOfKey ?? queuedOfKey, bytes: Number.POSITIVE_INFINITY };
    this.#keys = new BacklogLimit(logger, { most, countedAfter: KEY_COUNTED_AFTER });
  }

  /** The function that an event is for. @throws MayflyError function_not_found, function_draining */
  async target(stores: Stores, name: string): Promise<KnownFunction> {
    return this.#known.get(stores, name);
  }

  /** As {@link accept}, as far as the queues of the project, and of the event's key, have room. @throws MayflyError queue_full, too */
  async acceptWhileRoom(stores: Stores, target: KnownFunction, arrival: Arrival): Promise<Accepted> {
    const { project, name } = target.record;
    const { runs } = stores.store;
    const isProjectFull = await this.#projects.isFullOnceCounted(project, () => runs.waiting());
    const countKey = async (lane: string) => ({ runs: await runs.countOfKey(name, lane), bytes: 0 });
    const isKeyFull = (lane: string) => this.#keys.isFull(keyOf(target, lane), () => countKey(lane));
    const isFull = (lane: string | null) => (lane !== null && isKeyFull(lane)) || isProjectFull;
    return this.accept(stores, target, { ...arrival, isFull });
  }

  /** As {@link acceptEvent}; the dispatcher is told, and nobody waits for that. */
  async accept({ store }: Stores, target: KnownFunction, arrival: Arrival): Promise<Accepted> {
    const accepted = await acceptEvent(store, this.schemas, target, arrival);
    if (accepted.isNew) {
      const { lane, eventBytes } = accepted.run;
      this.#projects.add(target.record.project, countedBytes(1, isLargeEvent(eventBytes) ? eventBytes : 0));
      if (lane !== null) this.#keys.add(keyOf(target, lane));
    }
    const { state, waitingFor } = accepted.run;
    const isToBegin = state === 'queued' && waitingFor !== 'check' && target.record.state !== 'paused';
    if (isToBegin) this.#bell.ring(target.record);
    return accepted;
  }
}

function keyOf({ record: { project, name } }: KnownFunction, lane: string): string {
  return `${project}/${name}/${lane}`;
}
