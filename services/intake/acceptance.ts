import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Backlog, countBacklogBytes, isLargeEvent } from '../../model/functions/run.ts';
import { LIMITS } from '../../model/limits.ts';
import type { ApiWorkflows } from '../../temporal/temporal-sagas.ts';
import type { InputSchemas } from '../schema/input-schemas.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type IncomingEvent, type IngestResult, ingestEvent } from './accept-event.ts';
import { type CachedFunction, FunctionCache } from './function-cache.ts';

/** Interval between two signals to one dispatcher, ms. */
const PAUSE_MS = 250;

interface FunctionRef {
  project: string;
  name: string;
}

/**
 * Signals dispatchers that runs are queued: at once, then once for all that come within the interval. A lost signal loses
 * no run, since dispatchers poll too.
 */
export class DispatcherNotifier {
  /** Dispatchers that are being signalled; true: signal once again. */
  readonly #notifying = new Map<string, boolean>();

  constructor(
    private readonly sagas: Pick<ApiWorkflows, 'functions'>,
    private readonly logger: Logger,
  ) {}

  ring(ref: FunctionRef): void {
    const id = `${ref.project}/${ref.name}`;
    if (this.#notifying.has(id)) {
      this.#notifying.set(id, true);
      return;
    }
    void this.#notify(id, ref);
  }

  async #notify(id: string, ref: FunctionRef): Promise<void> {
    do {
      this.#notifying.set(id, false);
      try {
        await this.sagas.functions.wakeDispatcher(ref);
      } catch (error) {
        this.logger.info({ err: error, ...ref }, 'a dispatcher was not signalled, and polls by itself');
        break;
      }
      await sleep(PAUSE_MS, undefined, { ref: false });
    } while (this.#notifying.get(id));
    this.#notifying.delete(id);
  }
}

/** Lifetime of a count, ms, and its minimum as a multiple of the time that the count took. */
const KNOWN_MS = 10_000;
const TIMES_LONGER = 50;
/** Longest wait for the first count, ms; then the event is accepted. */
const FIRST_MS = 200;
/** Limit of cached backlogs, LRU. */
const MOST_KNOWN = 10_000;

interface CachedBacklog extends Backlog {
  /** Runs that this process accepted since the count. */
  accepted: number;
  /** Expiry of the count, ms of the monotonic clock; 0: never counted. */
  until: number;
  /** Null while no count runs. Never rejects. */
  counting: Promise<void> | null;
}

interface BacklogLimitOptions {
  most: Backlog;
  /** Accepted runs before a backlog is counted; then only one count runs at a time. `@default` 0: counted at once */
  countedAfter?: number;
}

/**
 * Limit of backlogs, such as those of projects. The store counts them every ten seconds, less often when that takes
 * long; runs accepted since then are added. So several processes, or a first burst, may accept some more.
 */
export class BacklogLimit {
  readonly #known = new Map<string, CachedBacklog>();
  #counts = 0;

  constructor(
    private readonly logger: Logger,
    private readonly options: BacklogLimitOptions,
  ) {}

  /** Returns without waiting. @param count reads the backlog from the store */
  isFull(backlog: string, count: () => Promise<Backlog>): boolean {
    const { most, countedAfter = 0 } = this.options;
    const known = this.#get(backlog);
    const isFull = known.runs >= most.runs || known.bytes >= most.bytes;
    const isDue = known.until < performance.now() && (isFull || known.accepted >= countedAfter);
    if (isDue && (countedAfter === 0 || this.#counts === 0)) known.counting ??= this.#count(known, count);
    return isFull;
  }

  /** Waits briefly for the first count. */
  async isFullOnceCounted(backlog: string, count: () => Promise<Backlog>): Promise<boolean> {
    const isFull = this.isFull(backlog, count);
    const { until, counting } = this.#get(backlog);
    if (until > 0 || !counting) return isFull;
    await Promise.race([counting, sleep(FIRST_MS)]);
    return this.isFull(backlog, count);
  }

  /** Adds one run. @param bytes of its event that count */
  add(backlog: string, bytes = 0): void {
    const known = this.#get(backlog);
    known.runs += 1;
    known.bytes += bytes;
    known.accepted += 1;
  }

  #get(backlog: string): CachedBacklog {
    const known = this.#known.get(backlog) ?? { runs: 0, bytes: 0, accepted: 0, until: 0, counting: null };
    this.#known.delete(backlog);
    this.#known.set(backlog, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  /** A failed count changes nothing: a store that does not answer refuses the event itself. */
  async #count(known: CachedBacklog, count: () => Promise<Backlog>): Promise<void> {
    this.#counts += 1;
    const began = performance.now();
    try {
      Object.assign(known, await count(), { accepted: 0 });
    } catch (error) {
      this.logger.warn({ err: error }, 'a backlog could not be counted; retry later');
    }
    known.until = performance.now() + Math.max(KNOWN_MS, (performance.now() - began) * TIMES_LONGER);
    known.counting = null;
    this.#counts -= 1;
  }
}

/** Accepted runs of one key before its backlog is counted: most keys have few runs, and are never counted. */
const KEY_COUNTED_AFTER = 100;

type Stores = Pick<ServiceDeps, 'store'>;

/** Intake of events, one per API process, since it caches functions and signals their dispatchers. */
export class EventIntake {
  readonly #known = new FunctionCache();
  readonly #bell: DispatcherNotifier;
  readonly #projects: BacklogLimit;
  readonly #keys: BacklogLimit;

  constructor(
    { sagas, logger, queueLimits }: Pick<ServiceDeps, 'sagas' | 'logger' | 'queueLimits'>,
    readonly schemas: InputSchemas,
  ) {
    this.#bell = new DispatcherNotifier(sagas, logger);
    const { queued, queuedBytes, queuedOfKey } = LIMITS.functions;
    this.#projects = new BacklogLimit(logger, { most: queueLimits ?? { runs: queued, bytes: queuedBytes } });
    const most = { runs: queueLimits?.runsOfKey ?? queuedOfKey, bytes: Number.POSITIVE_INFINITY };
    this.#keys = new BacklogLimit(logger, { most, countedAfter: KEY_COUNTED_AFTER });
  }

  /** Returns the function of an event. @throws MayflyError function_not_found, function_draining */
  async target(stores: Stores, name: string): Promise<CachedFunction> {
    return this.#known.get(stores, name);
  }

  /**
   * Accepts an event as {@link accept} does, within the backlog limits of the project and of the event's key. @throws
   * MayflyError queue_full, too
   */
  async acceptWhileRoom(stores: Stores, target: CachedFunction, arrival: IncomingEvent): Promise<IngestResult> {
    const { project, name } = target.record;
    const { runs } = stores.store;
    const isProjectFull = await this.#projects.isFullOnceCounted(project, () => runs.waiting());
    const countKey = async (lane: string) => ({ runs: await runs.countOfKey(name, lane), bytes: 0 });
    const isKeyFull = (lane: string) => this.#keys.isFull(keyOf(target, lane), () => countKey(lane));
    const isFull = (lane: string | null) => (lane !== null && isKeyFull(lane)) || isProjectFull;
    return this.accept(stores, target, { ...arrival, isFull });
  }

  /** Accepts an event as {@link ingestEvent} does, and signals the dispatcher without waiting. */
  async accept({ store }: Stores, target: CachedFunction, arrival: IncomingEvent): Promise<IngestResult> {
    const accepted = await ingestEvent(store, this.schemas, target, arrival);
    if (accepted.isNew) {
      const { lane, eventBytes } = accepted.run;
      this.#projects.add(target.record.project, countBacklogBytes(1, isLargeEvent(eventBytes) ? eventBytes : 0));
      if (lane !== null) this.#keys.add(keyOf(target, lane));
    }
    const { state, waitingFor } = accepted.run;
    const isToBegin = state === 'queued' && waitingFor !== 'check' && target.record.state !== 'paused';
    if (isToBegin) this.#bell.ring(target.record);
    return accepted;
  }
}

function keyOf({ record: { project, name } }: CachedFunction, lane: string): string {
  return `${project}/${name}/${lane}`;
}
