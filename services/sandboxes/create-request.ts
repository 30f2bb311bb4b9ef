import { LIMITS } from '../../model/limits.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { contentsOf } from '../../model/source-content.ts';
import type { PolicyRequest } from '../approvals/check-policy.ts';
import { actorOf, type IdempotentCall } from '../idempotent-call.ts';
import { type Origin, proposedTo, type Unset } from './placement.ts';

/** Request for a sandbox, or for forks of a snapshot, before its defaults are filled in. */
export interface CreateRequest extends Unset<SandboxSpec> {
  name?: string | undefined;
  /** Forks. `@default` one sandbox */
  count?: number | undefined;
}

/** Returns a create, or a fork, as a policy judges it: its origin, size and egress, whichever of them the request names. */
export function createPolicyRequest(
  request: CreateRequest,
  origin: Origin,
  count: number,
): Omit<PolicyRequest, 'isBegun'> {
  const { known, network, size, source, snapshotId } = origin;
  const facts = { egress: network.egress, memoryMib: size.memoryMib, sandboxes: count };
  const shown = { name: request.name ?? null, count, ...specOf(request, origin), ...size };
  const content = snapshotId === null ? contentsOf(known, source) : [];
  return {
    action: 'sandbox.create',
    agentId: request.agentId,
    resolve: () => Promise.resolve({ facts, request: shown, content }),
  };
}

/** Returns the input of a sandbox's workflow, requested now. */
export function sandboxInput(call: IdempotentCall, id: string, request: CreateRequest, origin: Origin): SandboxInput {
  return {
    id,
    ...(request.name !== undefined && { name: request.name }),
    spec: specOf(request, origin),
    size: origin.size,
    createdBy: actorOf(call, request.agentId),
    requestedAt: new Date().toISOString(),
    begin: 'create',
    ...proposedTo(call.apiKey, origin),
  };
}

/** Fills in the defaults, which are recorded. */
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
