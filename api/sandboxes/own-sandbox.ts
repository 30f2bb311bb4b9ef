import type { Context } from 'hono';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { type Origin, proposedTo } from '../../services/sandboxes/placement.ts';
import { actorOf } from '../http/auth.ts';
import type { Env } from '../http/context.ts';

interface OwnSandbox {
  id: string;
  origin: Origin;
  requestedAt: string;
  /** More than what it is for may take: its own TTL ends it when nobody else does any more. Seconds. */
  ttlSeconds: number;
  purpose: string;
  builds: NonNullable<SandboxInput['builds']>;
}

/** A sandbox that a saga has for itself: an ordinary one, in which callers change nothing. */
export function ownSandboxInput(
  c: Context<Env>,
  { id, origin, requestedAt, ttlSeconds, purpose, builds }: OwnSandbox,
): SandboxInput {
  const { source, snapshotId, captureId, network, size } = origin;
  return {
    id,
    spec: {
      source,
      snapshotId,
      captureId,
      cpus: null,
      memoryMib: null,
      ttlSeconds,
      idleSeconds: null,
      autoResume: false,
      metadata: { purpose },
      agentId: null,
      network,
    },
    size,
    createdBy: actorOf(c),
    requestedAt,
    begin: 'create',
    builds,
    ...proposedTo(c.get('apiKey'), origin),
  };
}
