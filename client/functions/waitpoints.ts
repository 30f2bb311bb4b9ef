import type { WaitpointRecord } from '../../model/waitpoints/waitpoint.ts';
import type { List } from '../http/options.ts';
import type { CallOptions, PostOptions, Transport } from '../http/transport.ts';

export interface CreateWaitpoint {
  /** By which the process waits for it. `@default` default */
  name?: string;
  /** From now on; of one that is there it is set anew. Seconds. `@default` a day when it is made, else as it is */
  timeoutSeconds?: number;
}

/** A waitpoint of a run, without its data. */
export type Waitpoint = Omit<WaitpointRecord, 'project' | 'tokens' | 'data'>;

export interface WaitpointToken extends Waitpoint {
  /** Whoever has it completes the waitpoint. It is shown once. */
  token: string;
  /** Where its data is sent to without an API key, below the address of the API. */
  path: string;
}

export type CompletedWaitpoint = Pick<Waitpoint, 'name' | 'state' | 'completedAt'>;

/** Where processes of runs wait for data from outside. Throws as {@link MayflyClient} does. */
export class Waitpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Makes one unless the run has one of that name, and a token for it: each call another one.
   * @throws MayflyApiError run_has_ended, waitpoint_completed, waitpoint_expired, waitpoints_full
   */
  create(runId: string, wish: CreateWaitpoint = {}, options: PostOptions = {}): Promise<WaitpointToken> {
    return this.#transport.json({ method: 'POST', path: pathOf(runId), body: wish }, options);
  }

  /** Those of a run, the oldest first. */
  list(runId: string, options: CallOptions = {}): Promise<List<Waitpoint>> {
    return this.#transport.json({ method: 'GET', path: pathOf(runId) }, options);
  }

  /**
   * Sends the data that the process waits for. The same again is answered as the first time.
   * @throws MayflyApiError waitpoint_not_found, waitpoint_completed, waitpoint_expired
   */
  complete(token: string, data: unknown, options: PostOptions = {}): Promise<CompletedWaitpoint> {
    const path = `/v1/waitpoints/${encodeURIComponent(token)}`;
    return this.#transport.json({ method: 'POST', path, body: { data } }, options);
  }
}

function pathOf(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}/waitpoints`;
}
