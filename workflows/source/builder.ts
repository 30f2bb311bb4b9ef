import type { BakeSourceInput } from '../../model/snapshots/bake-saga.ts';
import { TaskSandbox } from './task-sandbox.ts';

/** Its own TTL ends it when nobody else does any more. Seconds. */
const TTL_SECONDS = 7_200;

/** The sandbox in which a snapshot is cleaned, with no way to the internet. */
export function builderOf(input: BakeSourceInput): TaskSandbox {
  const { builderId: id, hostId, installationId, snapshot, name, actor, requestedAt, timeouts, size } = input;
  const spec = {
    source: snapshot.source,
    snapshotId: snapshot.id,
    cpus: null,
    memoryMib: null,
    ttlSeconds: TTL_SECONDS,
    idleSeconds: null,
    autoResume: false,
    metadata: { purpose: `bakes the source ${name}` },
    agentId: null,
    network: { egress: 'none' },
  } as const;
  const sized = { ...(size && { size }), ...(timeouts && { timeouts }) };
  return new TaskSandbox(
    {
      id,
      spec,
      ...sized,
      createdBy: actor,
      requestedAt,
      begin: 'create',
      hosts: [{ hostId, installationId }],
      mayBeOff: true,
      builds: 'source',
    },
    'bake_failed',
  );
}
