import type { InputSchemas } from '../schema/input-schemas.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type Accepted, type Arrival, acceptEvent } from './accept-event.ts';
import { DispatcherBell } from './dispatcher-bell.ts';
import { FunctionCache, type KnownFunction } from './function-cache.ts';
import { KeyRoom } from './key-room.ts';
import { QueueRoom } from './queue-room.ts';

type Stores = Pick<ServiceDeps, 'store'>;

/** What every door takes events by: one for each API process, since it knows functions and tells their dispatchers. */
export class Acceptance {
  readonly #known = new FunctionCache();
  readonly #bell: DispatcherBell;
  readonly #room: QueueRoom;
  readonly #keys: KeyRoom;

  constructor(
    { sagas, logger, queueLimits }: Pick<ServiceDeps, 'sagas' | 'logger' | 'queueLimits'>,
    readonly schemas: InputSchemas,
  ) {
    this.#bell = new DispatcherBell(sagas, logger);
    this.#room = new QueueRoom(logger, queueLimits);
    this.#keys = new KeyRoom(logger, queueLimits?.runsOfKey);
  }

  /** The function that an event is for. @throws MayflyError function_not_found, function_draining */
  async target(stores: Stores, name: string): Promise<KnownFunction> {
    return this.#known.get(stores, name);
  }

  /** As {@link accept}, as far as the queues of the project, and of the event's key, have room. @throws MayflyError queue_full, too */
  async acceptWhileRoom(stores: Stores, target: KnownFunction, arrival: Arrival): Promise<Accepted> {
    const { project, name } = target.record;
    const { runs } = stores.store;
    const isProjectFull = await this.#room.isFull(project, () => runs.waiting());
    const isKeyFull = (lane: string) => this.#keys.isFull(keyOf(target, lane), () => runs.countOfKey(name, lane));
    const isFull = (lane: string | null) => (lane !== null && isKeyFull(lane)) || isProjectFull;
    return this.accept(stores, target, { ...arrival, isFull });
  }

  /** As {@link acceptEvent}; the dispatcher is told, and nobody waits for that. */
  async accept({ store }: Stores, target: KnownFunction, arrival: Arrival): Promise<Accepted> {
    const accepted = await acceptEvent(store, this.schemas, target, arrival);
    if (accepted.isNew) {
      const { lane, eventBytes } = accepted.run;
      this.#room.add(target.record.project, eventBytes);
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
