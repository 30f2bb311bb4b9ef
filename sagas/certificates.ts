import {
  type Client,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { isErrorCode, MayflyError } from '../model/errors.ts';
import { CONTROL_QUEUE } from '../model/sagas/queues.ts';
import { readable } from '../model/sagas/readable.ts';
import {
  CERTIFICATE_WORKFLOW,
  type CertificateInput,
  type IssuedCertificate,
  type RefusedCertificate,
  type Revocation,
  TRUST_CHANGED,
  TRUST_WORKFLOW,
  type TrustInput,
  trustWorkflowIdOf,
} from '../model/sandbox/certificate.ts';
import type { RequestSigner } from '../model/sandbox/signed-request.ts';

type CertificateWorkflow = (input: CertificateInput) => Promise<IssuedCertificate | RefusedCertificate>;
type TrustWorkflow = (input: TrustInput) => Promise<boolean>;

/** A control worker that is being restarted is waited for. Milliseconds. */
const SIGNING_MS = 30_000;

/**
 * Has a public key signed. The same request id again gets the same certificate.
 * @throws MayflyError sandbox_not_found, sandbox_ended, public_key_refused, request_refused, temporal_unavailable
 */
export async function signKey(
  client: Client,
  signer: RequestSigner,
  requestId: string,
  input: CertificateInput,
): Promise<IssuedCertificate> {
  const workflowId = `certificate/${input.sandboxId}/${requestId}`;
  try {
    return await client.withDeadline(Date.now() + SIGNING_MS, async () => {
      const { sandboxId, publicKey, purpose, actor, ttlSeconds } = input;
      const signature = signer.sign('certificate', { workflowId, sandboxId, publicKey, purpose, actor, ttlSeconds });
      await startOnce(client, workflowId, { ...input, signature, refusalIsResult: true });
      const answer = await client.workflow.getHandle<CertificateWorkflow>(workflowId).result();
      if ('refused' in answer) throw new MayflyError(answer.refused.code, answer.refused.message);
      return answer;
    });
  } catch (error) {
    throw refusalOf(error, input.sandboxId);
  }
}

async function startOnce(client: Client, workflowId: string, input: CertificateInput): Promise<void> {
  try {
    await client.workflow.start<CertificateWorkflow>(CERTIFICATE_WORKFLOW, {
      workflowId,
      taskQueue: CONTROL_QUEUE,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      // One that was too late has given nobody anything: who asks again may get it.
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      // What nobody waits for any more is not signed.
      workflowExecutionTimeout: SIGNING_MS,
      staticSummary: readable(`${input.sandboxId} · ${input.purpose}`),
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Has a guest told anew whom to trust, after certificates were revoked or CA keys changed. Returns when Temporal has it. */
export async function changeTrust(client: Client, sandboxId: string, revocation: Revocation | null): Promise<void> {
  await client.workflow.signalWithStart<TrustWorkflow, [Revocation | null]>(TRUST_WORKFLOW, {
    workflowId: trustWorkflowIdOf(sandboxId),
    taskQueue: CONTROL_QUEUE,
    args: [{ sandboxId }],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    signal: TRUST_CHANGED,
    signalArgs: [revocation],
    staticSummary: readable(`what ${sandboxId} trusts`),
  });
}

/** Resolves when the guest has it, or has ended. */
export function trusted(client: Client, sandboxId: string): Promise<boolean> {
  return client.workflow.getHandle<TrustWorkflow>(trustWorkflowIdOf(sandboxId)).result();
}

function refusalOf(error: unknown, sandboxId: string): unknown {
  const cause = error instanceof WorkflowFailedError ? rootOf(error) : undefined;
  if (cause?.type && isErrorCode(cause.type)) return new MayflyError(cause.type, cause.message, { cause: error });
  const isLate = error instanceof WorkflowFailedError || error instanceof ServiceError || isGrpcServiceError(error);
  if (!isLate) return error;
  const why = `No certificate for ${sandboxId} was signed within ${SIGNING_MS / 1_000} s: is the control worker there?`;
  return new MayflyError('temporal_unavailable', why, { cause: error, retryAfterSeconds: 2 });
}

/** The error of our table at the bottom: activities wrap it, local ones do not. */
function rootOf(error: Error): ApplicationFailure | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof ApplicationFailure) return at;
  }
  return undefined;
}
