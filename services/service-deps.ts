import type { Logger } from 'pino';
import type { Waiting } from '../model/functions/run.ts';
import type { ProjectStore } from '../store/project-store.ts';
import type { Sagas } from '../temporal/temporal-sagas.ts';
import type { Guests } from './guests.ts';
import type { PoolDoor } from './pool-door.ts';

/** What application logic is given: of the store, what the caller may see. */
export interface ServiceDeps {
  store: ProjectStore;
  sagas: Sagas;
  guests: Guests;
  poolDoor: PoolDoor;
  /** Limits of queued runs of one project, and of one key. `@default` model/limits.ts */
  queueLimits?: Waiting & { runsOfKey?: number };
  logger: Logger;
}
