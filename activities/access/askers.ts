import { createHash } from 'node:crypto';
import { Context, log } from '@temporalio/activity';
import { z } from 'zod';
import { isSignedBy } from '../../ca/signed-request.ts';
import { MayflyError } from '../../model/errors.ts';
import { deriveInstallationId, isApprovalId, isHostId, isInstallationId } from '../../model/ids.ts';
import {
  ACCESS_KINDS,
  APPROVAL_KINDS,
  MAX_REQUEST_AGE_MS,
  type RequestKind,
  type RequestSignature,
  type SignedRequests,
  type Signer,
} from '../../model/sandbox/signed-request.ts';
import type { Store } from '../../store/connect.ts';

/** Schema of untrusted signatures: anyone with access to Temporal may have written one. */
const signatureSchema = z.strictObject({
  by: z.union([
    z.strictObject({ process: z.literal('api') }),
    z.strictObject({
      process: z.literal('host'),
      hostId: z.string().refine(isHostId),
      installationId: z.string().refine(isInstallationId),
    }),
  ]),
  publicKey: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  at: z.iso.datetime(),
  nonce: z.string().max(64),
  value: z.string().regex(/^[A-Za-z0-9_-]{86}$/),
});

/**
 * Verifier of requests to the control worker. Temporal identifies no caller: anyone with access can start any workflow
 * and answer for any worker.
 */
export class RequestVerifier {
  constructor(private readonly store: Pick<Store, 'signers' | 'certificates'>) {}

  /** @throws MayflyError request_refused, also logged by the control worker */
  async verified<Kind extends RequestKind>(
    kind: Kind,
    asked: SignedRequests[Kind],
    signature: RequestSignature | undefined,
  ): Promise<Signer> {
    const about = asked.sandboxId;
    if (signature === undefined) throw toRefusal(kind, about, null, 'nobody has signed it');
    const { success } = signatureSchema.safeParse(signature);
    if (!success) throw toRefusal(kind, about, null, 'its signature is none');
    const { by, at, publicKey } = signature;
    if (Math.abs(Date.now() - Date.parse(at)) > MAX_REQUEST_AGE_MS) throw toRefusal(kind, about, by, `it is of ${at}`);
    if (!isSignedBy(signature, kind, asked))
      throw toRefusal(kind, about, by, 'its signature is not of what it asks for');
    if (!(await this.#isKeyOf(by, publicKey))) throw toRefusal(kind, about, by, `the key ${publicKey} is not its own`);
    return by;
  }

  /**
   * Allows only the API to record events, of accesses and approvals, with an actor.
   * @throws MayflyError request_refused
   */
  async mayRecord(asked: SignedRequests['event'], signature: RequestSignature | undefined): Promise<void> {
    const by = await this.verified('event', asked, signature);
    const { kind, actor } = asked.event;
    const kinds = isApprovalId(asked.sandboxId) ? APPROVAL_KINDS : ACCESS_KINDS;
    if (by.process === 'api' && kinds.has(kind) && actor !== null) return;
    throw toRefusal('event', asked.sandboxId, by, `an event ${kind} is not for it to have recorded`);
  }

  /**
   * Checks that a request was not granted before: a copy from a history gets no second certificate. The same run may
   * repeat it.
   * @returns the request's digest and run
   * @throws MayflyError request_refused
   */
  async onlyHere(
    { by, value }: RequestSignature,
    sandboxId: string,
  ): Promise<{ request: string; runId: string | null }> {
    const runId = Context.current().info.workflowExecution?.runId ?? null;
    const request = createHash('sha256').update(value).digest('hex');
    const before = await this.store.certificates.ofRequest(request);
    if (before.every((record) => record.runId === runId)) return { request, runId };
    throw toRefusal('certificate', sandboxId, by, 'it was granted before');
  }

  async #isKeyOf(by: Signer, publicKey: string): Promise<boolean> {
    if (by.process === 'api') return this.store.signers.isApi(publicKey);
    return by.installationId === deriveInstallationId(publicKey);
  }
}

/** Returns a refusal, and logs it for the operator. */
export function toRefusal(kind: RequestKind, about: string, by: Signer | null, why: string): MayflyError {
  const { workflowId } = Context.current().info.workflowExecution ?? {};
  log.warn('a request was refused', { request: kind, about, by, why, workflowId });
  return new MayflyError('request_refused', `The request of ${nameOf(by)} (${kind}, ${about}) is refused: ${why}.`);
}

function nameOf(by: Signer | null): string {
  if (by === null) return 'somebody';
  return by.process === 'api' ? 'an API process' : `the host ${by.hostId} (${by.installationId})`;
}
