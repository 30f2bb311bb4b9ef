import { MayflyError } from '../../model/errors.ts';
import { sandboxIdFrom } from '../../model/ids.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { grants } from '../../model/scopes.ts';
import { checkPolicy } from '../approvals/check-policy.ts';
import { deriveId, type IdempotentCall, releaseUnstarted } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import { type WaitLimit, waitWithin } from '../waiting.ts';
import { admit } from './admission.ts';
import { claimMember } from './claim-member.ts';
import { placeableOrigin } from './placement.ts';
import { type CreateRequest, createPolicyRequest, readStarted, sandboxInput, startSandbox } from './start-sandbox.ts';

/**
 * Creates a sandbox and waits until it runs: a claimed pool member, or one with a new workflow. A retry of the request
 * joins the first one: Temporal deduplicates workflows by id.
 * @returns its record at the end of the wait
 * @throws PendingApproval; MayflyError what {@link placeableOrigin}, {@link checkPolicy}, {@link admit} and
 *   {@link startSandbox} throw, name_taken
 */
export async function createSandbox(
  deps: ServiceDeps,
  call: IdempotentCall,
  request: CreateRequest,
  wait: WaitLimit,
): Promise<SandboxRecord> {
  const { store, sagas } = deps;
  const { subjectId: id, isFresh, outcome } = call;
  const present = isFresh ? null : await store.sandboxes.get((outcome.isFinal && outcome.memberId) || id);
  if (present && present.id !== id) return present;
  let input: SandboxInput | null = null;
  let started: SandboxRecord | null = null;
  if (!present) {
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

/**
 * Fails fast on a taken name; the workflow decides.
 * @throws MayflyError name_taken, with the holder for a key with its read scope
 */
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

/**
 * Limit of concurrent workflow starts; each resolves when its record is in the store. Ten took 4 s on two busy cores
 * that ran the workflows too, and one call may take ten.
 */
const STARTED_AT_ONCE = 5;

/** Fork at the end of the wait, or the error of its start. */
export type Fork = { id: string } & ({ record: SandboxRecord } | { record: null; refusal: MayflyError });

/** Returns the ids of forks, in the order of the response. */
export function forkIds(subjectId: string, { count = 1 }: Pick<CreateRequest, 'count'>): string[] {
  return Array.from({ length: count }, (_, n) => deriveId(sandboxIdFrom, subjectId, `fork/${n}`));
}

/**
 * Creates forks of a snapshot, and waits until they run. A retry of the request joins the existing ones, and starts the
 * rest.
 * @throws PendingApproval; MayflyError what {@link placeableOrigin}, {@link checkPolicy} and {@link admit} throw, or
 *   the error of a start when none was started
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

/** @returns the errors of those that were not started */
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
