import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { Actor } from '../../model/sandbox/sandbox.ts';
import type { StorageQuota } from '../../model/snapshots/storage.ts';
import { type Origin, proposeHosts } from './placement.ts';

interface OwnSandbox {
  id: string;
  origin: Origin;
  requestedAt: string;
  /** TTL, s, longer than its purpose needs: the last resort against a leaked sandbox. */
  ttlSeconds: number;
  purpose: string;
  builds: NonNullable<SandboxInput['builds']>;
}

/** Returns the input of a sandbox that a workflow owns: an ordinary one that callers cannot change. */
export function ownSandboxInput(
  apiKey: StorageQuota,
  createdBy: Actor,
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
    createdBy,
    requestedAt,
    begin: 'create',
    builds,
    ...proposeHosts(apiKey, origin),
  };
}
