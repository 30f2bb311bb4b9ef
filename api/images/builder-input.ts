import type { Context } from 'hono';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import { actorOf } from '../http/auth.ts';
import type { Env } from '../http/context.ts';
import { type Origin, proposedTo } from '../resources/placement.ts';

/** More than a build may take: its own TTL ends one when nobody else does any more. Seconds. */
const TTL_SECONDS = 18_000;

/** The sandbox in which the steps of a build run: an ordinary one. */
export function builderInput(
  c: Context<Env>,
  id: string,
  name: string,
  origin: Origin,
  requestedAt: string,
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
      ttlSeconds: TTL_SECONDS,
      idleSeconds: null,
      autoResume: false,
      metadata: { purpose: `builds the image ${name}` },
      agentId: null,
      network,
    },
    size,
    createdBy: actorOf(c),
    requestedAt,
    begin: 'create',
    builds: 'image',
    ...proposedTo(c.get('apiKey'), origin),
  };
}
