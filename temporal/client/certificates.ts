import { isGrpcServiceError, ServiceError, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { isErrorCode, MayflyError } from '../../model/errors.ts';
import { CONTROL_QUEUE } from '../../model/sagas/queues.ts';
import { markReadable } from '../../model/sagas/readable.ts';
import type { IssuedCertificate } from '../../model/sandbox/certificate.ts';
import {
  CERTIFICATE_WORKFLOW,
  type CertificateInput,
  type RefusedCertificate,
  type Revocation,
  TRUST_CHANGED,
  TRUST_WORKFLOW,
  trustWorkflowIdOf,
} from '../../model/sandbox/certificate-saga.ts';
import { isMissingWorkflow } from '../call/failure.ts';
import { WorkflowClient } from '../call/workflow-client.ts';

type CertificateWorkflow = (input: CertificateInput) => Promise<IssuedCertificate | RefusedCertificate>;

/** Timeout of signing, ms; long enough for the restart of a control worker. */
const SIGNING_MS = 30_000;

/** Requests the signing and revocation of certificates. */
export class CertificateWorkflows extends WorkflowClient {
  /**
   * Requests a certificate, which is returned and not stored. A repeated request id gets the same certificate.
   * @throws MayflyError sandbox_not_found, sandbox_ended, public_key_refused, request_refused, temporal_unavailable
   */
  async issue(requestId: string, input: CertificateInput): Promise<IssuedCertificate> {
    const workflowId = `certificate/${input.sandboxId}/${requestId}`;
    const { sandboxId, publicKey, purpose, actor, ttlSeconds } = input;
    const signed = { workflowId, sandboxId, publicKey, purpose, actor, ttlSeconds };
    const signature = this.signer.sign('certificate', signed);
    try {
      return await this.client.withDeadline(Date.now() + SIGNING_MS, async () => {
        await this.#startOnce(workflowId, { ...input, signature });
        const answer = await this.client.workflow.getHandle<CertificateWorkflow>(workflowId).result();
        if ('refused' in answer) throw new MayflyError(answer.refused.code, answer.refused.message);
        return answer;
      });
    } catch (error) {
      throw refusalOf(error, sandboxId);
    }
  }

  async #startOnce(workflowId: string, input: CertificateInput): Promise<void> {
    try {
      await this.client.workflow.start<CertificateWorkflow>(CERTIFICATE_WORKFLOW, {
        workflowId,
        taskQueue: CONTROL_QUEUE,
        args: [input],
        workflowIdConflictPolicy: 'USE_EXISTING',
        // A request that timed out issued no certificate; it may be retried.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        // A request without a waiter is not signed.
        workflowExecutionTimeout: SIGNING_MS,
        staticSummary: markReadable(`${input.sandboxId} · ${input.purpose}`),
      });
    } catch (error) {
      if (!isMissingWorkflow(error)) throw error;
    }
  }

  /** Revokes certificates; null: the CA's keys changed. Resolves when Temporal has it; the guest is updated later. */
  async changeTrust(sandboxId: string, revocation: Revocation | null): Promise<void> {
    const options = {
      workflowId: trustWorkflowIdOf(sandboxId),
      args: [{ sandboxId }],
      staticSummary: markReadable(`what ${sandboxId} trusts`),
    };
    await this.signalWithStart(TRUST_WORKFLOW, options, TRUST_CHANGED, revocation);
  }

  /** Resolves when the guest is updated, or has ended. @throws the signal's reason when it fires first */
  async trusted(sandboxId: string, signal: AbortSignal): Promise<void> {
    await this.result(trustWorkflowIdOf(sandboxId), signal);
  }
}

function refusalOf(error: unknown, sandboxId: string): unknown {
  const cause = error instanceof WorkflowFailedError ? rootOf(error) : undefined;
  if (cause?.type && isErrorCode(cause.type)) return new MayflyError(cause.type, cause.message, { cause: error });
  const isLate = error instanceof WorkflowFailedError || error instanceof ServiceError || isGrpcServiceError(error);
  if (!isLate) return error;
  const why = `No certificate for ${sandboxId} was signed within ${SIGNING_MS / 1_000} s: is the control worker there?`;
  return new MayflyError('temporal_unavailable', why, { cause: error, retryAfterSeconds: 2 });
}

/** Returns the first ApplicationFailure among the causes: activities wrap it, local ones do not. */
function rootOf(error: Error): ApplicationFailure | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof ApplicationFailure) return at;
  }
  return undefined;
}
