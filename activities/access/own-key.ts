import { Context } from '@temporalio/activity';
import type { RequestSignature, RequestSigner } from '../../model/sandbox/signed-request.ts';

/** A host's word that its own key to a sandbox, or source, shall be certified in the workflow that this activity is of. */
export function signOwnKey(signer: RequestSigner, sandboxId: string, publicKey: string): RequestSignature {
  const { workflowId = '' } = Context.current().info.workflowExecution ?? {};
  const asked = { workflowId, sandboxId, publicKey, purpose: 'host', actor: null, ttlSeconds: null } as const;
  return signer.sign('certificate', asked);
}
