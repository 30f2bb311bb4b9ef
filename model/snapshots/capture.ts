import type { HostRef } from '../host.ts';
import type { Actor, Egress, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { SavedDisk } from './snapshot.ts';

/**
 * creating → ready → deleting → deleted, or creating → failed
 *
 * `ready` is said only of a copy that was checked. `deleting` goes back to `ready` when something turns out to refer to it.
 * A record is never removed.
 */
export const CAPTURE_STATES = ['creating', 'ready', 'failed', 'deleting', 'deleted'] as const;
export type CaptureState = (typeof CAPTURE_STATES)[number];

/** What a host copied of a running source, and checked. */
export interface SavedCapture {
  disks: SavedDisk[];
  /** What all of it takes on the host by itself, without its parent, bytes. */
  sizeBytes: number;
  /** The source's file systems were frozen at that moment; otherwise they are as after a power cut. */
  quiesced: boolean;
  /** The moment that the copy is of, ISO 8601. */
  capturedAt: string;
  /** The capture it refers to: only what changed since that was copied. Null: all was copied. */
  parentId: string | null;
  /** Why all was copied. Null when only changes were. */
  fullBecause: string | null;
}

/** The record of a capture: `_id` is its id. Written by the workflow that takes it, then by the one that deletes it. */
export interface CaptureRecord extends HostRef {
  id: string;
  /** Of who took it. */
  project: string;
  /** The projects that may clone it. */
  projects: string[];
  /** The most that its clones can reach. */
  allowedEgress: Egress;
  /** The running golden VM that it is a copy of. */
  source: string;
  state: CaptureState;
  createdBy: Actor;
  createdAt: string;
  readyAt: string | null;
  /** Set once `ready`. */
  saved: SavedCapture | null;
  failure: SandboxFailure | null;
  /** What an undo that does not hold yet waits for, or what kept it from being deleted. */
  waitingFor: string | null;
}

/** The workflow type, and the input of its one execution at a time on a source; its id is {@link captureWorkflowIdOf}. */
export const CAPTURE_WORKFLOW = 'capture';
interface CaptureTask extends HostRef {
  captureId: string;
  /** Source whose audit trail records it. */
  sourceId: string;
  source: string;
  actor: Actor;
  /** Time of the request, ISO 8601. */
  at: string;
  /** `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
}

export interface CaptureCreation extends CaptureTask, Pick<CaptureRecord, 'projects' | 'allowedEgress'> {
  task: 'create';
}

export type CaptureInput = CaptureCreation | (CaptureTask & { task: 'delete' });

/** Where a run's task and capture are told to whoever finds it running: Temporal's memo. */
export const CAPTURE_MEMO = 'capture';

export function captureMemoOf({ task, captureId }: CaptureInput): string {
  return `${task} ${captureId}`;
}

export function captureWorkflowIdOf({ hostId, source }: Pick<CaptureInput, 'hostId' | 'source'>): string {
  return `capture/${hostId}/${source}`;
}

/** The record of a capture that begins. */
export function newCapture({
  captureId,
  hostId,
  installationId,
  source,
  actor,
  at,
  projects,
  allowedEgress,
}: CaptureCreation): CaptureRecord {
  return {
    id: captureId,
    project: actor.project,
    projects,
    allowedEgress,
    hostId,
    installationId,
    source,
    state: 'creating',
    createdBy: actor,
    createdAt: at,
    readyAt: null,
    saved: null,
    failure: null,
    waitingFor: null,
  };
}
