import { setTimeout as delay } from 'node:timers/promises';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { newSandboxRecord } from '../../model/sagas/requested-record.ts';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { listContents } from '../../model/source-content.ts';
import type { PolicyRequest } from '../approvals/check-policy.ts';
import { actorOf, type IdempotentCall } from '../idempotent-call.ts';
import type { ServiceDeps } from '../service-deps.ts';
import type { WaitLimit } from '../waiting.ts';
import { type Origin, proposeHosts, type Unset } from './placement.ts';

interface Deps extends Pick<ServiceDeps, 'sagas' | 'logger'> {
  store: { sandboxes: Pick<ServiceDeps['store']['sandboxes'], 'get' | 'create'> };
}

/** Limit of retries of a start that Temporal has not confirmed, ms. */
const RETRY_MS = 300_000;
const RETRY_INTERVAL_MS = 1_000;

const UNAVAILABLE: readonly string[] = ['temporal_unavailable', 'store_unavailable'];

/**
 * Starts the workflow of a sandbox. For a caller that does not wait, the record is written here too, since the workflow
 * may be late; the first one stays. Only the workflow claims a name, so no named record lacks a workflow.
 *
 * A start that Temporal did not confirm in time counts as started: an error would make the caller request another
 * sandbox. It is retried here and, after a crash of this process, by the reconciler.
 * @returns the record, where it is known here
 * @throws MayflyError temporal_unavailable when certainly nothing started
 */
export async function startSandbox(
  deps: Deps,
  input: SandboxInput,
  { seconds }: Pick<WaitLimit, 'seconds'>,
): Promise<SandboxRecord | null> {
  const { store, sagas, logger } = deps;
  const isUnnamed = input.name === undefined;
  try {
    if (seconds > 0 || !isUnnamed) {
      await sagas.sandboxes.create(input);
      return null;
    }
    if (!(await sagas.sandboxes.begin(input))) return null;
  } catch (error) {
    if (!(error instanceof MayflyError) || error.options.mayHaveBegun !== true) throw error;
    logger.warn({ err: error, sandboxId: input.id }, 'Temporal timed out: the start of a workflow is retried');
    void retryStart(deps, input);
    if (!isUnnamed) return newSandboxRecord(input);
  }
  return readOrRequested(() => store.sandboxes.create(newSandboxRecord(input)), input);
}

/**
 * Returns the record of a started sandbox; the requested one while store or Temporal is unavailable.
 * @param started what {@link startSandbox} returned
 * @throws MayflyError name_taken
 */
export async function readStarted(
  { store, sagas }: Pick<Deps, 'store' | 'sagas'>,
  id: string,
  input: SandboxInput | null,
  started: SandboxRecord | null = null,
): Promise<SandboxRecord> {
  return readOrRequested(async () => {
    const present = await store.sandboxes.get(id);
    if (present) return present;
    await sagas.sandboxes.recorded(id);
    const record = (await store.sandboxes.get(id)) ?? started;
    if (record) return record;
    throw new MayflyError('internal', `The workflow of ${id} was started, but the store has no record of it.`);
  }, input);
}

async function readOrRequested(read: () => Promise<SandboxRecord>, input: SandboxInput | null): Promise<SandboxRecord> {
  try {
    return await read();
  } catch (error) {
    if (input === null || !(error instanceof MayflyError) || !UNAVAILABLE.includes(error.code)) throw error;
    return newSandboxRecord(input);
  }
}

async function retryStart({ sagas, logger }: Deps, input: SandboxInput): Promise<void> {
  for (const until = Date.now() + RETRY_MS; ; ) {
    await delay(RETRY_INTERVAL_MS, undefined, { ref: false });
    try {
      await sagas.sandboxes.create(input);
      return;
    } catch (error) {
      if (isMayflyError(error, 'temporal_unavailable') && Date.now() < until) continue;
      logger.error({ err: error, sandboxId: input.id }, 'a promised workflow could not be started');
      return;
    }
  }
}

/** Request for a sandbox, or for forks of a snapshot, without defaults. */
export interface CreateRequest extends Unset<SandboxSpec> {
  name?: string | undefined;
  /** Number of forks. `@default` one sandbox */
  count?: number | undefined;
}

/** Returns the policy's view of a create or fork, with its resolved origin, size and egress. */
export function createPolicyRequest(
  request: CreateRequest,
  origin: Origin,
  count: number,
): Omit<PolicyRequest, 'isBegun'> {
  const { known, network, size, source, snapshotId } = origin;
  const facts = { egress: network.egress, memoryMib: size.memoryMib, sandboxes: count };
  const shown = { name: request.name ?? null, count, ...specOf(request, origin), ...size };
  const content = snapshotId === null ? listContents(known, source) : [];
  return {
    action: 'sandbox.create',
    agentId: request.agentId,
    resolve: () => Promise.resolve({ facts, request: shown, content }),
  };
}

export function sandboxInput(call: IdempotentCall, id: string, request: CreateRequest, origin: Origin): SandboxInput {
  return {
    id,
    ...(request.name !== undefined && { name: request.name }),
    spec: specOf(request, origin),
    size: origin.size,
    createdBy: actorOf(call, request.agentId),
    requestedAt: new Date().toISOString(),
    begin: 'create',
    ...proposeHosts(call.apiKey, origin),
  };
}

/** Returns the spec with defaults, which are recorded. */
function specOf(request: CreateRequest, { source, snapshotId, captureId, network }: Origin): SandboxSpec {
  return {
    source,
    snapshotId,
    captureId,
    cpus: request.cpus ?? null,
    memoryMib: request.memoryMib ?? null,
    ttlSeconds: request.ttlSeconds ?? LIMITS.ttlSeconds.default,
    idleSeconds: request.idleSeconds ?? null,
    onIdle: request.onIdle ?? 'destroy',
    autoResume: request.autoResume ?? false,
    metadata: request.metadata ?? {},
    agentId: request.agentId ?? null,
    network,
    ...(request.boot && { boot: request.boot }),
  };
}
