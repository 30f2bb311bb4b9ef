import type { Client } from '@temporalio/client';
import type { RequestSigner } from '../model/sandbox/signed-request.ts';
import { throwMapped } from './call/failure.ts';
import { ROUND_MS, repeatLongPoll } from './call/wait.ts';
import type { Calls } from './call/workflow-client.ts';
import { Workflows } from './workflows.ts';

interface Options {
  /** Time for which the server may hold one round of a wait, ms. `@default` 10,000 */
  roundMs?: number;
  /** Time for one call, after which Temporal counts as unavailable, ms. `@default` 10,000 */
  callMs?: number;
  signer?: RequestSigner;
}

const CALL_MS = 10_000;

/**
 * Client of workflows for the API. Callers read results from the store: when a workflow is missing, or has ended, the
 * calls resolve and the record decides. They throw MayflyError, such as temporal_unavailable.
 */
export class ApiTemporalClient extends Workflows {
  constructor(client: Client, { roundMs = ROUND_MS, callMs = CALL_MS, signer }: Options = {}) {
    super(client, new MappedCalls(client, roundMs, callMs), signer);
  }
}

/** Public members of {@link ApiTemporalClient}, for test doubles. */
export type ApiWorkflows = Pick<ApiTemporalClient, keyof ApiTemporalClient>;

class MappedCalls implements Calls {
  constructor(
    private readonly client: Client,
    private readonly roundMs: number,
    private readonly callMs: number,
  ) {}

  async call<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.client.withDeadline(Date.now() + this.callMs, call);
    } catch (error) {
      throwMapped(error);
      return undefined;
    }
  }

  async wait<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await repeatLongPoll(this.client, signal, call, this.roundMs);
    } catch (error) {
      signal.throwIfAborted();
      throwMapped(error);
      return undefined;
    }
  }
}
