import { Context } from '@temporalio/activity';
import type { RequestSignature, RequestSigner } from '../../model/sandbox/signed-request.ts';

/** Signs a host's request to certify its own key to a sandbox or source, in this activity's workflow. */
export function signOwnKey(signer: RequestSigner, sandboxId: string, publicKey: string): RequestSignature {
  const { workflowId = '' } = Context.current().info.workflowExecution ?? {};
  const asked = { workflowId, sandboxId, publicKey, purpose: 'host', actor: null, ttlSeconds: null } as const;
  return signer.sign('certificate', asked);
}
