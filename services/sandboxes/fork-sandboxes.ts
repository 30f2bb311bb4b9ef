import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { checkPolicy } from '../approvals/check-policy.ts';
import { deriveId, type IdempotentCall, releaseUnstarted } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';
import { admit } from './admission.ts';
import { type CreateRequest, createPolicyRequest, sandboxInput } from './create-request.ts';
import { placeableOrigin } from './placement.ts';
import { readStarted, startSandbox } from './start-sandbox.ts';

/**
 * Workflows that are started at once; each start resolves when its record is in the store. Ten took 4 s on two busy cores
 * that ran the workflows too, and one call may take ten.
 */
const STARTED_AT_ONCE = 5;

/** A fork as it is when the wait is over, or why it was not started. */
export type Fork = { id: string } & ({ record: SandboxRecord } | { record: null; refusal: MayflyError });

/** Returns the ids of forks, in the order of their places in the answer. */
export function forkIds(subjectId: string, { count = 1 }: Pick<CreateRequest, 'count'>): string[] {
  return Array.from({ length: count }, (_, n) => deriveId(sandboxIdFrom, subjectId, `fork/${n}`));
}

/**
 * Creates forks of a snapshot, and waits until they run. The same request again joins those that the first one began, and
 * starts the others.
 * @throws PendingApproval; MayflyError what {@link placeableOrigin}, {@link checkPolicy} and {@link admit} refuse with, or why
 *   none was started
 */
export async function forkSandboxes(
  deps: ServiceDeps,
  call: IdempotentCall,
  request: CreateRequest,
  wait: WaitLimit,
): Promise<Fork[]> {
  const { store, sagas } = deps;
  const ids = forkIds(call.subjectId, request);
  const begun = call.isFresh ? [] : await Promise.all(ids.map((id) => store.sandboxes.get(id)));
  const missing = ids.filter((_, n) => !begun[n]);
  const inputs = new Map<string, SandboxInput>();
  let refusals = new Map<string, MayflyError>();
  if (missing.length > 0) {
    const origin = await placeableOrigin(store, request);
    await checkPolicy(deps, call, call.apiKey.project, createPolicyRequest(request, origin, ids.length));
    await admit(deps, missing, origin.size, call);
    for (const id of missing) inputs.set(id, sandboxInput(call, id, request, origin));
    refusals = await startAll(deps, call, [...inputs.values()], wait);
    const [first] = refusals.values();
    if (first && refusals.size === ids.length) throw first;
  }
  const started = ids.filter((id) => !refusals.has(id));
  await waitWithin(deps, wait, async (signal) => {
    await Promise.all(started.map((id) => sagas.sandboxes.settled(id, signal)));
  });
  const forks: Fork[] = [];
  for (const id of ids) {
    const refusal = refusals.get(id);
    if (refusal) forks.push({ id, record: null, refusal });
    else forks.push({ id, record: await readStarted(deps, id, inputs.get(id) ?? null) });
  }
  return forks;
}

/** @returns why some were not started */
async function startAll(
  deps: ServiceDeps,
  call: IdempotentCall,
  inputs: readonly SandboxInput[],
  wait: WaitLimit,
): Promise<Map<string, MayflyError>> {
  const refusals = new Map<string, MayflyError>();
  const start = async (input: SandboxInput) => {
    try {
      await startSandbox(deps, input, wait);
    } catch (error) {
      await releaseUnstarted(deps.store, call, [input.id], error);
      if (!(error instanceof MayflyError)) throw error;
      refusals.set(input.id, error);
    }
  };
  for (let n = 0; n < inputs.length; n += STARTED_AT_ONCE) {
    await Promise.all(inputs.slice(n, n + STARTED_AT_ONCE).map(start));
  }
  return refusals;
}
