import type { Client } from '@temporalio/client';
import { MayflyError } from '../../model/errors.ts';
import type { RequestSigner } from '../../model/sandbox/signed-request.ts';
import { type Calls, WorkflowClient } from './workflow-client.ts';

/** Base of the clients that sign what the control worker is asked for. */
export abstract class SigningClient extends WorkflowClient {
  constructor(
    client: Client,
    calls: Calls,
    private readonly givenSigner: RequestSigner | undefined,
  ) {
    super(client, calls);
  }

  /** @throws MayflyError internal */
  protected get signer(): RequestSigner {
    if (this.givenSigner) return this.givenSigner;
    throw new MayflyError('internal', 'This process has no key to sign requests with.');
  }
}
