import type { HostRef } from '../host.ts';
import type { Size } from '../project-limits.ts';
import type { Actor } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { BakedSource } from './baked-source.ts';

/** The two workflows of a name, of which one runs at a time; their id is {@link bakeWorkflowIdOf}. */
export const BAKE_SOURCE_WORKFLOW = 'bakeSource';
export interface BakeSourceInput extends HostRef {
  /** Names this one bake: `opn-…`. */
  bakeId: string;
  sourceId: string;
  name: string;
  snapshot: { id: string; sandboxId: string; source: string };
  builderId: string;
  /** A source of the same host that was made of the same snapshot: it is copied, while it is that. `@default` none */
  like?: string;
  /** Of the builder, as it counts in its project's quotas. `@default` as little as can be */
  size?: Size;
  actor: Actor;
  /** ISO 8601. */
  requestedAt: string;
  /** Of the builder. `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

/** The first record of a bake: what was asked for, and nothing that has happened. */
export function requestedBake(input: BakeSourceInput): BakedSource {
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

/** Where the id of the bake that runs is told to whoever finds it running: Temporal's memo. */
export const BAKE_MEMO = 'bake';

export function bakeWorkflowIdOf(hostId: string, name: string): string {
  return `source-bake/${hostId}/${name}`;
}
