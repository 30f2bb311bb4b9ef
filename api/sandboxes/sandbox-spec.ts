import type { z } from '@hono/zod-openapi';
import { LIMITS } from '../../model/limits.ts';
import type { SandboxSpec } from '../../model/sandbox/sandbox.ts';
import type { Origin } from '../../services/sandboxes/placement.ts';
import type { createSandbox } from '../resources/sandbox-schemas.ts';

export type Request = z.output<typeof createSandbox>;

/** The defaults are filled in here, once, and recorded. */
export function specOf(
  request: Request,
  { source, snapshotId, captureId, network }: Pick<Origin, 'source' | 'snapshotId' | 'captureId' | 'network'>,
): SandboxSpec {
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
