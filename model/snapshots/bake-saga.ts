import type { HostRef } from '../host.ts';
import type { Size } from '../project-limits.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { BakedSource } from './baked-source.ts';

/** Workflows that bake and delete a source, of which one runs at a time; their id is {@link bakeWorkflowId}. */
export const BAKE_SOURCE_WORKFLOW = 'bakeSource';
export interface BakeSourceInput extends HostRef {
  /** Id of the bake: `opn-…`. */
  bakeId: string;
  sourceId: string;
  name: string;
  snapshot: { id: string; sandboxId: string; source: string };
  builderId: string;
  /** Source of the same host made from the same snapshot, copied if it still is. `@default` none */
  like?: string;
  /** Size of the builder in its project's quotas. `@default` the minimum */
  size?: Size;
  actor: Actor;
  /** ISO 8601. */
  requestedAt: string;
  /** Timeouts of the builder. `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Builds the first record of a bake. */
export function newBakeRecord(input: BakeSourceInput): BakedSource {
  const { bakeId, sourceId, hostId, installationId, name, snapshot, builderId, actor, requestedAt } = input;
  return {
    id: sourceId,
    project: actor.project,
    hostId,
    installationId,
    name,
    state: 'baking',
    bakeId,
    snapshotId: snapshot.id,
    sandboxId: snapshot.sandboxId,
    builderId,
    createdBy: actor,
    createdAt: requestedAt,
    readyAt: null,
    image: null,
    failure: null,
    waitingFor: null,
    updatedAt: requestedAt,
  };
}

export const DELETE_SOURCE_WORKFLOW = 'deleteSource';
export interface DeleteSourceInput extends HostRef {
  sourceId: string;
  name: string;
  actor: Actor;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** Key of Temporal's memo that holds the id of the running bake. */
export const BAKE_MEMO = 'bake';

export function bakeWorkflowId(hostId: string, name: string): string {
  return `source-bake/${hostId}/${name}`;
}
