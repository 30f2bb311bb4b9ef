import type { Client } from '@temporalio/client';
import type { RequestSigner } from '../model/sandbox/signed-request.ts';
import { repeatLongPoll } from './call/wait.ts';
import { Workflows } from './workflows.ts';

/** Client of workflows for workers: errors are Temporal's own, for the retry policy of an activity. */
export class ControlTemporalClient extends Workflows {
  constructor(client: Client, signer?: RequestSigner) {
    const wait = <T>(signal: AbortSignal, call: () => Promise<T>) => repeatLongPoll(client, signal, call);
    super(client, { call: (call) => call(), wait }, signer);
  }
}
