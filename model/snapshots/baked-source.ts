import type { HostRef } from '../host.ts';
import { LIMITS } from '../limits.ts';
import type { Size } from '../project-limits.ts';
import type { Actor, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { SavedDisk } from './snapshot.ts';

/**
 * baking → ready → deleting → deleted, or baking → failed
 *
 * `ready` is said only of what its host lists as a source. A delete that is refused leads back to `ready`. A name can be
 * baked again once it is `failed` or `deleted`.
 */
export const BAKED_SOURCE_STATES = ['baking', 'ready', 'failed', 'deleting', 'deleted'] as const;
export type BakedSourceState = (typeof BAKED_SOURCE_STATES)[number];

/** What a host made of a snapshot: images that refer to nothing. */
export interface BakedImage {
  disks: SavedDisk[];
  /** What all of it takes on the host, bytes. */
  sizeBytes: number;
}

/** The record of a source that was made of a snapshot: `_id` is its source id. Written by the workflows of its name. */
export interface BakedSource extends HostRef {
  id: string;
  /** Of who had it made. */
  project: string;
  name: string;
  state: BakedSourceState;
  /** The one bake that made it, or failed to. */
  bakeId: string;
  snapshotId: string;
  /** Whose snapshot that is. */
  sandboxId: string;
  /** The sandbox in which it was cleaned; it is destroyed before this is `ready`, `failed` or `deleted`. */
  builderId: string;
  createdBy: Actor;
  createdAt: string;
  readyAt: string | null;
  /** Set once `ready`. */
  image: BakedImage | null;
  /** Why it was not baked, or why it was not deleted. */
  failure: SandboxFailure | null;
  /** What an undo that does not hold yet waits for. */
  waitingFor: string | null;
  updatedAt: string;
}

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

const NAME = /^[A-Za-z][A-Za-z0-9._-]*$/;
/** virsh takes these for a domain's UUID; and names of ours are not to be mistaken for a source's. */
const MISLEADING = /^(?:[0-9a-f-]{32,}|(?:sbx|src|snp|opn|cmd)-.*)$/i;

/** Whether a source that Mayfly makes may be called so: a path and a word of virsh are made of it. */
export function isBakedSourceName(name: string): boolean {
  return name.length <= LIMITS.bakedSourceName.maxLength && NAME.test(name) && !MISLEADING.test(name);
}
