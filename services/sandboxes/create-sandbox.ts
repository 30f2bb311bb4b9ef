import { MayflyError } from '../../model/errors.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { grants } from '../../model/scopes.ts';
import { checkPolicy } from '../approvals/check-policy.ts';
import type { IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';
import { admit } from './admission.ts';
import { claimMember } from './claim-member.ts';
import { type CreateRequest, createPolicyRequest, sandboxInput } from './create-request.ts';
import { placeableOrigin } from './placement.ts';
import { readStarted, startSandbox } from './start-sandbox.ts';

/**
 * Creates a sandbox and waits until it runs: a pool's member, or one whose workflow starts here. The same request again joins
 * what the first one began: Temporal joins two workflows of one id.
 * @returns its record when the wait is over
 * @throws PendingApproval; MayflyError what {@link placeableOrigin}, {@link checkPolicy}, {@link admit} and
 *   {@link startSandbox} refuse with, name_taken
 */
export async function createSandbox(
  deps: ServiceDeps,
  call: IdempotentCall,
  request: CreateRequest,
  wait: WaitLimit,
): Promise<SandboxRecord> {
  const { store, sagas } = deps;
  const { subjectId: id, isFresh, outcome } = call;
  const begun = isFresh ? null : await store.sandboxes.get((outcome.isFinal && outcome.memberId) || id);
  if (begun && begun.id !== id) return begun;
  let input: SandboxInput | null = null;
  let started: SandboxRecord | null = null;
  if (!begun) {
    const origin = await placeableOrigin(store, request);
    await checkPolicy(deps, call, call.apiKey.project, createPolicyRequest(request, origin, 1));
    input = sandboxInput(call, id, request, origin);
    await assertNameFree(deps, call, request.name);
    const claimed = await claimMember(deps, call, input, origin);
    if (claimed.record) return claimed.record;
    await admit(deps, [id], origin.size, call);
    started = await startSandbox(deps, { ...input, ...(claimed.isMissed && { missed: 'pool_empty' }) }, wait);
  }
  await waitWithin(deps, wait, (signal) => sagas.sandboxes.settled(id, signal));
  return started && wait.seconds <= 0 ? started : readStarted(deps, id, input, started);
}

/** Fails fast on a taken name; the workflow decides. @throws MayflyError name_taken, with the holder for a key that may read it */
async function assertNameFree(
  { store }: Pick<ServiceDeps, 'store'>,
  { apiKey, subjectId, outcome }: IdempotentCall,
  name: string | undefined,
): Promise<void> {
  const holder = name === undefined ? null : await store.sandboxes.named(name);
  if (!holder || holder.id === subjectId || holder.id === outcome.memberId) return;
  const who = grants(apiKey.scopes, 'sandboxes:read') ? `${holder.id}, which is ${holder.state},` : 'Another sandbox';
  throw new MayflyError('name_taken', `${who} is named ${name}.`);
}
